// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/block_replay.hpp"

#include <algorithm>

namespace apportion {

namespace {
constexpr double kThreshold = 0.1;  // as for rebalancing (PLB-HeC, III.D)
}

bool BlockReplay::worth_repeating(const LoadDescription& load) const {
    if (!planned_ || lanes_.size() != load.processors.size()) return false;
    Units units = 0;
    double first_s = std::numeric_limits<double>::infinity(), last_s = 0;
    for (const Lane& lane : lanes_) {
        for (Units block : lane.recorded) units += block;
        if (lane.recorded.empty()) continue;
        first_s = std::min(first_s, lane.end_s);
        last_s = std::max(last_s, lane.end_s);
    }
    return units == load.units && units > 0 && last_s - first_s <= kThreshold * last_s &&
           last_s <= (1 + kThreshold) * shortest_s_;
}

void BlockReplay::begin(const LoadDescription& load, bool planned) {
    const bool again = planned && worth_repeating(load);
    if (!again) shortest_s_ = std::numeric_limits<double>::infinity();
    double last_s = 0;
    lanes_.resize(load.processors.size());
    for (Lane& lane : lanes_) {
        last_s = std::max(last_s, lane.end_s);
        lane.planned = again ? lane.recorded : std::deque<Units>{};
        lane.recorded.clear();
        lane.end_s = 0;
    }
    if (again) shortest_s_ = std::min(shortest_s_, last_s);
    active_ = again;
    planned_ = planned;
    any_finished_ = false;
}

std::optional<Units> BlockReplay::next(int processor, const Progress& progress) {
    if (!active_) return std::nullopt;
    std::deque<Units>& own = lanes_[static_cast<std::size_t>(processor)].planned;
    const bool idle = progress.in_flight(processor).empty();
    if (!own.empty()) {
        const Units units = own.front();
        if (!idle && progress.room(processor) < units) return 0;
        own.pop_front();
        return units;
    }
    Units reserved = 0;
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
        for (Units block : lanes_[p].planned) reserved += block;
        // Whoever has blocks to come and runs none was not asked: it is lost, and its blocks are for the others.
        if (any_finished_ && !lanes_[p].planned.empty() && progress.in_flight(static_cast<int>(p)).empty())
            active_ = false;
    }
    if (progress.remaining() > reserved) active_ = false;
    return active_ ? std::optional<Units>(0) : std::nullopt;
}

void BlockReplay::finished(const FinishedBlock& block) {
    Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
    lane.recorded.push_back(block.units);
    lane.end_s = std::max(lane.end_s, block.end_s);
    any_finished_ = true;
}

}  // namespace apportion
