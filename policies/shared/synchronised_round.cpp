// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/synchronised_round.hpp"

#include <algorithm>

namespace apportion {

void SynchronisedRound::begin(const LoadDescription& load, std::vector<Units> shares, Units remaining) {
    granularity_ = load.granularity;
    later_ = remaining;
    for (const Units share : shares) later_ -= std::min(share, later_);
    lanes_.resize(shares.size());
    for (std::size_t p = 0; p < shares.size(); ++p) {
        const bool lost = lanes_[p].lost;
        lanes_[p] = {shares[p], 0, load.processors[p].memory_units, 0, 0, lost};
    }
}

Units SynchronisedRound::left(int processor, const Progress& progress) const {
    // A block may be smaller than was asked for: what counts is what was handed out.
    const Lane& own = lane(processor);
    if (own.lost) return 0;
    Units units = own.share - own.done;
    for (const BlockInFlight& block : progress.in_flight(processor)) units -= block.units;
    return std::max<Units>(0, units);
}

Units SynchronisedRound::part_of_abandoned(int processor, const Progress& progress) const {
    Units abandoned = progress.remaining() - later_;
    if (abandoned <= 0) return 0;
    double shares = 0;
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
        abandoned -= left(static_cast<int>(p), progress);
        if (abandoned <= 0) return 0;
        if (!lanes_[p].lost) shares += static_cast<double>(std::max(lanes_[p].share, granularity_));
    }
    const double part = static_cast<double>(std::max(lane(processor).share, granularity_)) / shares;
    return round_to_granularity(static_cast<double>(abandoned) * part, granularity_);
}

Units SynchronisedRound::next(int processor, const Progress& progress) {
    Lane& asking = lanes_[static_cast<std::size_t>(processor)];
    if (asking.lost) return 0;
    Units units = left(processor, progress);
    if (units == 0) {
        units = part_of_abandoned(processor, progress);
        asking.share += units;
    }
    return std::min({units, std::max(asking.memory, granularity_), progress.room(processor)});
}

void SynchronisedRound::finished(const FinishedBlock& block) {
    Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
    if (lane.done == 0) lane.given_s = block.given_s;
    lane.done += block.units;
    lane.end_s = std::max(lane.end_s, block.end_s);
}

void SynchronisedRound::lost(int processor) { lanes_[static_cast<std::size_t>(processor)].lost = true; }

bool SynchronisedRound::over(const Progress& progress) const {
    const auto busy = [&](int p) { return !lane(p).lost && (!progress.in_flight(p).empty() || left(p, progress) > 0); };
    // A processor that was busy when this was asked last mostly still is.
    const int count = static_cast<int>(lanes_.size());
    for (int k = 0; k < count; ++k) {
        const int p = (last_busy_ + k) % count;
        if (!busy(p)) continue;
        last_busy_ = p;
        return false;
    }
    return true;
}

}  // namespace apportion
