// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/block_replay.hpp"

#include <algorithm>
#include <numeric>

namespace apportion {

BlockReplay::Distribution BlockReplay::conclude(const LoadDescription& load) {
    Distribution run;
    double units = 0;
    for (Lane& lane : lanes_) {
        lane.recorded.clear();
        for (const auto& [first, count] : lane.ran) lane.recorded.push_back(count);
        run.units.push_back(static_cast<double>(std::accumulate(lane.recorded.begin(), lane.recorded.end(), Units{0})));
        run.ends_s.push_back(lane.end_s);
        units += run.units.back();
    }
    const bool whole = units > 0 && units == static_cast<double>(load.units);
    return planned_ && whole && lanes_.size() == load.processors.size() ? run : Distribution{};
}

void BlockReplay::begin(const LoadDescription& load, bool planned, bool repeat) {
    active_ = repeat;
    planned_ = planned;
    lanes_.resize(load.processors.size());
    for (Lane& lane : lanes_) {
        lane.planned = repeat ? lane.recorded : std::deque<Units>{};
        lane.ran.clear();
        lane.asked = lane.computed = 0;
        lane.end_s = 0;
    }
}

/// Blocks may have become smaller than was asked for; what is missing comes next.
void BlockReplay::plan_missing(const Progress& progress) {
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
        Lane& lane = lanes_[p];
        Units missing = lane.asked - lane.computed;
        for (const BlockInFlight& block : progress.in_flight(static_cast<int>(p))) missing -= block.units;
        if (missing <= 0) continue;
        lane.planned.push_front(missing);
        lane.asked -= missing;
    }
}

std::optional<Units> BlockReplay::next(int processor, const Progress& progress) {
    if (!active_) return std::nullopt;
    plan_missing(progress);
    Lane& lane = lanes_[static_cast<std::size_t>(processor)];
    if (!lane.planned.empty()) {
        const Units units = lane.planned.front();
        if (!progress.in_flight(processor).empty() && progress.room(processor) < units) return 0;
        lane.planned.pop_front();
        lane.asked += units;
        return units;
    }
    Units reserved = 0;
    for (const Lane& other : lanes_) reserved = std::accumulate(other.planned.begin(), other.planned.end(), reserved);
    if (progress.remaining() > reserved) stop();
    return active_ ? std::optional<Units>(0) : std::nullopt;
}

void BlockReplay::finished(const FinishedBlock& block) {
    Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
    lane.ran[block.first] = block.units;
    lane.computed += block.units;
    lane.end_s = std::max(lane.end_s, block.end_s);
}

}  // namespace apportion
