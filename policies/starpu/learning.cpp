// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/learning.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "models/io/user_error.hpp"
#include "models/transfer.hpp"
#include "policies/config.hpp"

namespace apportion {

namespace {

/// As LearntInProcess::add takes it.
std::optional<LearntDistribution> distribution_to_learn(const RunRecord& run, std::size_t processors) {
    constexpr std::size_t kMostBlocks = 4096;  // the file names each, and is not read beyond a mebibyte
    LearntDistribution distribution;
    if (run.run == 1) return distribution;
    if (run.blocks.empty() || run.blocks.size() > kMostBlocks) return std::nullopt;
    std::map<Units, const BlockRecord*> by_first;
    for (const BlockRecord& block : run.blocks) {
        if (block.given_back || !block.data_there) return std::nullopt;
        by_first[block.first] = &block;
    }
    distribution.blocks.resize(processors);
    for (const auto& [first, block] : by_first)
        distribution.blocks[static_cast<std::size_t>(block->processor)].push_back(block->units);
    distribution.run_s = run.makespan_s;
    return distribution;
}

}  // namespace

void Learning::begin(LearntKey key) {
    if (!learn_option()) return;
    key_ = std::move(key);
    try {
        file_ = learnt_file(key_);
    } catch (const FileError& error) {
        known_.problem = error.what();
        tell_of_learning(known_.problem);
        return;
    }
    known_ = learnt_in_process().known(file_, key_);
}

void Learning::add(const RunRecord& run, const std::vector<Processor>& processors,
                   const std::optional<LearntUnitCosts>& unit_costs) {
    if (file_.empty()) return;
    LearntBlocks blocks(processors.size());
    for (std::size_t p = 0; p < blocks.size(); ++p) {
        const auto lost = [p](const LostProcessor& other) { return static_cast<std::size_t>(other.processor) == p; };
        if (std::ranges::any_of(run.lost, lost)) continue;
        std::vector<const BlockRecord*> ran;
        for (const BlockRecord& block : run.blocks)
            if (block.processor == static_cast<int>(p) && !block.given_back && block.busy_s > 0) ran.push_back(&block);
        std::ranges::stable_sort(ran, {}, &BlockRecord::start_s);
        const BlockRecord none;
        const BlockRecord* before = &none;
        for (const BlockRecord* block : ran) {
            ProfilePoint& point = blocks[p].emplace_back(ProfilePoint{block->units, block->busy_s});
            if (processors[p].own_memory && !block->data_there) {
                point.in_s = transfer_seen_s(block->given_s, before->start_s, before->end_s, block->start_s)
                                 .value_or(0);  // unknown
                point.out_s = std::max(block->home_s - std::max(block->end_s, before->home_s), 0.0);
            }
            before = block;
        }
    }
    learnt_in_process().add(file_, key_, std::move(blocks), distribution_to_learn(run, processors.size()), unit_costs);
}

void Learning::load_ends() {
    if (!file_.empty()) learnt_in_process().load_ends();
}

}  // namespace apportion
