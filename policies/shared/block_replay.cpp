// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/block_replay.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace apportion {

void BlockReplay::forget() {
    for (Lane& lane : lanes_) lane.before.clear();
    before_s_ = 0;
}

void BlockReplay::conclude(const LoadDescription& load) {
    double units = 0;  // blocks that were lost count, too: together they may be more than a number of units can be
    for (const Lane& lane : lanes_) units += static_cast<double>(lane.computed);
    // When an open load ends depends on when its units came.
    const bool whole =
        !load.open && units > 0 && units == static_cast<double>(load.units) && lanes_.size() == load.processors.size();
    broken_s_ = whole && repeated_ && !active_ ? end_s_ : 0;
    if (!whole || broken_s_ > 0) return forget();
    for (Lane& lane : lanes_) lane.before = lane.ran;
    before_s_ = end_s_;
}

std::vector<double> BlockReplay::units_before() const {
    std::vector<double> units;
    for (const Lane& lane : lanes_) {
        units.push_back(0);
        for (const auto& [first, block] : lane.before) units.back() += static_cast<double>(block.units);
    }
    return units;
}

std::vector<double> BlockReplay::ends_s() const {
    std::vector<double> ends_s;
    for (const Lane& lane : lanes_) ends_s.push_back(lane.end_s);
    return ends_s;
}

std::vector<Units> BlockReplay::blocks_before(int processor) const {
    std::vector<Units> blocks;
    for (const auto& [first, block] : lanes_[static_cast<std::size_t>(processor)].before) blocks.push_back(block.units);
    return blocks;
}

void BlockReplay::begin(const LoadDescription& load, bool repeat) {
    active_ = repeated_ = repeat;
    end_s_ = 0;
    lanes_.resize(load.processors.size());
    for (Lane& lane : lanes_) {
        lane.planned.clear();
        if (repeat)
            for (const auto& [first, block] : lane.before) lane.planned.push_back(block.units);
        lane.ran.clear();
        lane.asked = lane.computed = 0;
        lane.end_s = 0;
    }
}

void BlockReplay::begin(const LoadDescription& load, std::span<const Units> shares, std::span<const Units> largest,
                        const std::vector<bool>& anew) {
    std::deque<OwnedUnits> free;
    for (const OwnedUnits& block : all_blocks_before()) {
        if (!anew[static_cast<std::size_t>(block.processor)]) continue;
        if (!free.empty() && free.back().first + free.back().units == block.first)
            free.back().units += block.units;
        else
            free.push_back(block);
    }
    for (const bool devices : {true, false})
        for (std::size_t p = 0; p < lanes_.size(); ++p) {
            if (load.processors[p].own_memory != devices) continue;
            Units left = shares[p];
            if (anew[p])
                lanes_[p].before.clear();
            else
                for (const auto& [first, block] : lanes_[p].before) left -= block.units;
            if (!anew[p]) left = left / load.granularity * load.granularity;  // it may have the last units of the load
            while (left > 0 && !free.empty()) {
                const Units units = std::min({left, largest[p], free.front().units});
                lanes_[p].before[free.front().first] = {units, 0};
                left -= units;
                free.front().first += units;
                free.front().units -= units;
                if (free.front().units == 0) free.pop_front();
            }
        }
    before_s_ = 0;
    begin(load, true);
}

bool BlockReplay::begin_with(const LoadDescription& load, const std::vector<std::vector<Units>>& blocks) {
    std::vector<std::pair<std::size_t, Units>> in_order;
    for (std::size_t p = 0; p < blocks.size(); ++p)
        for (const Units units : blocks[p]) in_order.emplace_back(p, units);
    // The one with the last units of the load may be smaller.
    std::stable_partition(in_order.begin(), in_order.end(),
                          [&](const auto& its) { return its.second % load.granularity == 0; });
    std::vector<Lane> lanes(load.processors.size());
    Units first = 0;
    for (const auto& [p, units] : in_order) {
        if (units <= 0 || units > load.units - first || first % load.granularity != 0) return false;
        lanes[p].before[first] = {units, 0};
        first += units;
    }
    if (first != load.units) return false;
    lanes_ = std::move(lanes);
    begin(load, true);
    return true;
}

std::vector<OwnedUnits> BlockReplay::all_blocks_before() const {
    std::vector<OwnedUnits> blocks;
    for (std::size_t p = 0; p < lanes_.size(); ++p)
        for (const auto& [first, block] : lanes_[p].before) blocks.push_back({static_cast<int>(p), first, block.units});
    std::ranges::sort(blocks, {}, &OwnedUnits::first);
    return blocks;
}

std::vector<OwnedUnits> BlockReplay::repeated() const {
    return active_ ? all_blocks_before() : std::vector<OwnedUnits>();
}

/// Blocks may have become smaller than was asked for; what is missing comes next.
void BlockReplay::plan_missing(int processor, const Progress& progress) {
    Lane& lane = lanes_[static_cast<std::size_t>(processor)];
    Units missing = lane.asked - lane.computed;
    for (const BlockInFlight& block : progress.in_flight(processor)) missing -= block.units;
    if (missing <= 0) return;
    lane.planned.push_front(missing);
    lane.asked -= missing;
}

std::optional<Units> BlockReplay::next(int processor, const Progress& progress) {
    if (!active_) return std::nullopt;
    plan_missing(processor, progress);
    Lane& lane = lanes_[static_cast<std::size_t>(processor)];
    if (!lane.planned.empty()) {
        const Units units = lane.planned.front();
        if (!progress.in_flight(processor).empty() && progress.room(processor) < units) return 0;
        lane.planned.pop_front();
        lane.asked += units;
        return units;
    }
    Units reserved = 0;
    for (int p = 0; p < static_cast<int>(lanes_.size()); ++p) {
        plan_missing(p, progress);
        const std::deque<Units>& planned = lanes_[static_cast<std::size_t>(p)].planned;
        reserved = std::accumulate(planned.begin(), planned.end(), reserved);
    }
    if (progress.remaining() > reserved) stop();
    return active_ ? std::optional<Units>(0) : std::nullopt;
}

void BlockReplay::finished(const FinishedBlock& block) {
    Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
    lane.ran[block.first] = {block.units, block.busy_s};
    lane.computed += block.units;
    lane.end_s = std::max(lane.end_s, block.end_s);
    end_s_ = std::max(end_s_, block.end_s);
}

void BlockReplay::returned(const ReturnedBlock& block) {
    Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
    lane.end_s = std::max(lane.end_s, block.home_s);
}

double BlockReplay::longest_s(int processor, Units units) const {
    double longest_s = 0;
    for (const auto& [first, block] : lanes_[static_cast<std::size_t>(processor)].before)
        if (block.units == units) longest_s = std::max(longest_s, block.busy_s);
    return longest_s;
}

}  // namespace apportion
