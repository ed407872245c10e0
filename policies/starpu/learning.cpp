// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/learning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <iostream>
#include <utility>

#include "models/io/shown.hpp"
#include "models/learnt_times.hpp"
#include "models/transfer.hpp"
#include "policies/config.hpp"

namespace apportion {

namespace {

constexpr std::chrono::seconds kBetweenSaves{60};
constexpr std::size_t kMostBlocks = 256;  // of a processor, between two savings: many of few sizes

/// Every second one goes: early, late and those between stay.
void halve(std::vector<ProfilePoint>& blocks) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < blocks.size(); k += 2) blocks[kept++] = blocks[k];
    blocks.resize(kept);
}

}  // namespace

void Learning::tell(const std::string& problem) {
    static std::atomic<bool> told = false;
    problem_ = problem;
    if (!told.exchange(true)) std::cerr << fmt::format("apportion: {}\n", shown(problem));
}

void Learning::begin(LearntKey key) {
    if (!learn_option()) return;
    key_ = std::move(key);
    blocks_.resize(key_.processors.size());
    try {
        file_ = learnt_file(key_);
        known_ = read_learnt(file_, key_);
        on_ = true;
    } catch (const FileError& error) {
        tell(error.what());
        on_ = !file_.empty();
    }
}

void Learning::add(const RunRecord& run, const std::vector<Processor>& processors) {
    if (!on_) return;
    for (std::size_t p = 0; p < blocks_.size(); ++p) {
        const auto lost = [p](const LostProcessor& other) { return static_cast<std::size_t>(other.processor) == p; };
        if (std::ranges::any_of(run.lost, lost)) continue;
        std::vector<const BlockRecord*> ran;
        for (const BlockRecord& block : run.blocks)
            if (block.processor == static_cast<int>(p) && !block.given_back && block.busy_s > 0) ran.push_back(&block);
        std::ranges::stable_sort(ran, {}, &BlockRecord::start_s);
        const BlockRecord none;
        const BlockRecord* before = &none;
        for (const BlockRecord* block : ran) {
            ProfilePoint& point = blocks_[p].emplace_back(ProfilePoint{block->units, block->busy_s});
            // Later submissions find data where they were.
            if (processors[p].own_memory && run.run == 1) {
                point.in_s = transfer_seen_s(block->given_s, before->start_s, before->end_s, block->start_s)
                                 .value_or(0);  // unknown
                point.out_s = std::max(block->home_s - std::max(block->end_s, before->home_s), 0.0);
            }
            before = block;
            if (blocks_[p].size() > kMostBlocks) halve(blocks_[p]);
        }
    }
    if (std::chrono::steady_clock::now() - saved_ > kBetweenSaves) save();
}

void Learning::save() {
    if (std::ranges::all_of(blocks_, [](const auto& blocks) { return blocks.empty(); })) return;
    saved_ = std::chrono::steady_clock::now();
    try {
        write_learnt(file_, key_, merged());
    } catch (const std::exception& error) {
        tell(fmt::format("what the load '{}' learnt is not kept: {}; APPORTION_LEARN=0 does without", key_.load,
                         error.what()));
        on_ = false;
    }
}

/// What the file has by now, with the blocks since it was written.
LearntProfile Learning::merged() {
    LearntProfile kept;
    try {
        kept = read_learnt(file_, key_);
    } catch (const FileError&) {
        // It was told of, or another process broke it: it is replaced.
    }
    if (kept.processors.empty())
        for (const std::string& name : key_.processors) kept.processors.push_back({name, {}});
    for (std::size_t p = 0; p < blocks_.size(); ++p) {
        LearntTimes times(std::move(kept.processors[p].points));
        for (const ProfilePoint& block : blocks_[p]) times.add(block);
        times.end_process();
        kept.processors[p].points = times.points();
        blocks_[p].clear();
    }
    if (!std::exchange(counted_, true)) ++kept.processes;
    return kept;
}

}  // namespace apportion
