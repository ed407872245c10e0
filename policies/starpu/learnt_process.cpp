// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/learnt_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <iostream>
#include <iterator>
#include <utility>

#include "models/io/shown.hpp"
#include "models/io/user_error.hpp"
#include "policies/shared/redistribution.hpp"

namespace apportion {

namespace {

constexpr std::chrono::seconds kBetweenWriting{1};
constexpr int kPauses = 100;              // times as long as writing took
constexpr std::size_t kMostBlocks = 256;  // of a processor, of a run and unwritten: many of few sizes
constexpr std::size_t kMostKeys = 256;    // a program may give each load another name

/// Every second one goes: early, late and those between stay.
void thin_out(std::vector<ProfilePoint>& blocks) {
    while (blocks.size() > kMostBlocks) {
        std::size_t kept = 0;
        for (std::size_t k = 0; k < blocks.size(); k += 2) blocks[kept++] = blocks[k];
        blocks.resize(kept);
    }
}

std::vector<LearntTimes> times_of(const LearntProfile& profile, const LearntKey& key) {
    std::vector<LearntTimes> times(key.processors.size());
    for (std::size_t p = 0; p < profile.processors.size(); ++p) times[p] = LearntTimes(profile.processors[p].points);
    return times;
}

void add_all(std::vector<LearntTimes>& times, const LearntBlocks& blocks) {
    for (std::size_t p = 0; p < blocks.size(); ++p)
        for (const ProfilePoint& block : blocks[p]) times[p].add(block);
}

/// One more run.
void follow(LearntDistribution& known, const LearntDistribution& run) {
    if (known.blocks != run.blocks) known = {run.blocks, 0, 0};
    known.run_s += (run.run_s - known.run_s) / std::min(++known.runs, kMostAveraged);
}

bool any(const LearntBlocks& blocks) {
    return !std::ranges::all_of(blocks, [](const auto& its) { return its.empty(); });
}

}  // namespace

LearntInProcess& learnt_in_process() {
    static LearntInProcess& process = *new LearntInProcess(kBetweenWriting);  // loads may outlive static objects
    return process;
}

void tell_of_learning(const std::string& problem) {
    static std::atomic<bool> told = false;
    if (!told.exchange(true)) std::cerr << fmt::format("apportion: {}\n", shown(problem));
}

LearntInProcess::Known& LearntInProcess::find_or_read(const std::filesystem::path& file, const LearntKey& key) {
    if (const auto found = all_.find(file); found != all_.end()) return found->second;
    if (all_.size() >= kMostKeys) {
        write_all();
        all_.clear();
    }
    Known known;
    known.key = key;
    known.unwritten.resize(key.processors.size());
    try {
        known.file = read_learnt(file, key);
    } catch (const FileError& error) {
        known.problem = error.what();
        tell_of_learning(known.problem);
    }
    known.times = times_of(known.file, key);
    known.distribution = known.file.distribution;
    known.unit_costs = known.file.unit_costs;
    return all_.try_emplace(file, std::move(known)).first->second;
}

/// As if the process ended now.
LearntProfile LearntInProcess::profile_of(const Known& known) {
    LearntProfile profile;
    profile.processes = known.file.processes + (any(known.unwritten) && !known.counted ? 1 : 0);
    if (profile.processes == 0) return profile;
    profile.distribution = known.distribution;
    profile.unit_costs = known.unit_costs;
    for (std::size_t p = 0; p < known.times.size(); ++p) {
        LearntTimes times = known.times[p];
        times.end_process();
        profile.processors.push_back({known.key.processors[p], times.points()});
    }
    return profile;
}

/// What another process wrote meanwhile is kept, and what this one did not write yet comes on top.
void LearntInProcess::write(const std::filesystem::path& file, Known& known) {
    if (!known.kept || !any(known.unwritten)) return;
    try {
        LearntProfile now;
        try {
            now = read_learnt(file, known.key);
        } catch (const FileError&) {
            // It was told of, or another process broke it: it is replaced.
        }
        if (now.processors != known.file.processors) {
            known.times = times_of(now, known.key);
            add_all(known.times, known.unwritten);
            known.counted = known.counted && now.processes > 0;
        }
        known.file.processes = now.processes;
        LearntProfile written = profile_of(known);
        write_learnt(file, known.key, written);
        known.file = std::move(written);
        known.counted = true;
        known.problem.clear();
        known.unwritten.assign(known.unwritten.size(), {});
    } catch (const std::exception& error) {
        known.kept = false;
        known.problem = fmt::format("what the load '{}' learnt is not kept: {}; APPORTION_LEARN=0 does without",
                                    known.key.load, error.what());
        tell_of_learning(known.problem);
    }
}

void LearntInProcess::write_all() {
    const auto begin = Clock::now();
    for (auto& [file, known] : all_) write(file, known);
    wrote_ = true;
    const auto end = Clock::now();
    next_writing_ = end + std::max<Clock::duration>(between_writing_, kPauses * (end - begin));
}

LearntKnown LearntInProcess::known(const std::filesystem::path& file, const LearntKey& key) {
    const std::lock_guard lock(mutex_);
    const Known& known = find_or_read(file, key);
    return {profile_of(known), known.problem};
}

void LearntInProcess::add(const std::filesystem::path& file, const LearntKey& key, LearntBlocks blocks,
                          const std::optional<LearntDistribution>& distribution,
                          const std::optional<LearntUnitCosts>& unit_costs) {
    for (auto& its : blocks) thin_out(its);
    if (!any(blocks)) return;
    const std::lock_guard lock(mutex_);
    Known& known = find_or_read(file, key);
    add_all(known.times, blocks);
    if (distribution) follow(known.distribution, *distribution);
    if (unit_costs) known.unit_costs = *unit_costs;
    for (std::size_t p = 0; p < blocks.size(); ++p) {
        std::ranges::move(blocks[p], std::back_inserter(known.unwritten[p]));
        thin_out(known.unwritten[p]);
    }
    if (Clock::now() >= next_writing_) write_all();
}

void LearntInProcess::load_ends() {
    const std::lock_guard lock(mutex_);
    if (!wrote_ || Clock::now() >= next_writing_) write_all();
}

void LearntInProcess::scheduler_ends() {
    const std::lock_guard lock(mutex_);
    write_all();
}

}  // namespace apportion
