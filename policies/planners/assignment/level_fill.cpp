// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/assignment/level_fill.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

namespace apportion {

Units packets_within(double level_s, double seconds, Units maximum) {
    const double count = std::floor(level_s / seconds);
    if (!(count < static_cast<double>(maximum))) return maximum;
    auto packets = static_cast<Units>(count);
    if (static_cast<double>(packets + 1) * seconds <= level_s) ++packets;  // the division was rounded down
    if (static_cast<double>(packets) * seconds > level_s) --packets;
    return std::clamp<Units>(packets, 0, maximum);
}

namespace {

/// Packets finished by a level, per group within its maximum. Stops counting at `enough`.
Units finished_by(double level_s, std::span<const FillUnit> units, std::span<const Units> group_maxima, Units enough) {
    std::vector<Units> of_group(group_maxima.size(), 0);
    for (const FillUnit& unit : units) {
        Units& sum = of_group[unit.group];
        const Units most = std::min(enough, group_maxima[unit.group]) - sum;
        sum += std::min(most, packets_within(level_s, unit.seconds, unit.maximum));
    }
    Units total = 0;
    for (Units sum : of_group) total += std::min(sum, enough - total);
    return total;
}

/// Hands out one by one, from `given` on.
void hand_out(std::span<const FillUnit> units, std::span<const Units> group_maxima, Units packets,
              std::vector<Units>& given) {
    using Candidate = std::pair<double, std::size_t>;  // finish of the next packet, unit
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> next;
    std::vector<Units> of_group(group_maxima.size(), 0);
    auto offer = [&](std::size_t j) {
        if (given[j] < units[j].maximum) next.emplace(static_cast<double>(given[j] + 1) * units[j].seconds, j);
    };
    for (std::size_t j = 0; j < units.size(); ++j) {
        of_group[units[j].group] += given[j];
        packets -= given[j];
        offer(j);
    }
    while (packets > 0 && !next.empty()) {
        const std::size_t j = next.top().second;
        next.pop();
        if (of_group[units[j].group] >= group_maxima[units[j].group]) continue;
        ++given[j];
        ++of_group[units[j].group];
        --packets;
        offer(j);
    }
}

/// Highest level known at which at most `packets` are finished.
double bisect_level(std::span<const FillUnit> units, std::span<const Units> group_maxima, Units packets) {
    double slowest_s = 0;
    for (const FillUnit& unit : units) slowest_s = std::max(slowest_s, unit.seconds);
    double low_s = 0, high_s = slowest_s * (static_cast<double>(packets) + 1);
    const auto few = static_cast<Units>(units.size());  // left to be handed out one by one
    while (packets - finished_by(low_s, units, group_maxima, packets) > few) {
        const double middle_s = (low_s + high_s) / 2;
        if (!(middle_s > low_s && middle_s < high_s)) break;
        // One more than there are tells whether this level is too high.
        const Units finished = finished_by(middle_s, units, group_maxima, packets < kNoLimit ? packets + 1 : packets);
        (finished <= packets ? low_s : high_s) = middle_s;
    }
    return low_s;
}

}  // namespace

std::vector<Units> level_fill(std::span<const FillUnit> units, std::span<const Units> group_maxima, Units packets) {
    std::vector<Units> given(units.size(), 0);
    if (packets <= 0) return given;
    const double level_s = bisect_level(units, group_maxima, packets);
    std::vector<std::vector<std::size_t>> members(group_maxima.size());
    for (std::size_t j = 0; j < units.size(); ++j) members[units[j].group].push_back(j);
    for (std::size_t g = 0; g < members.size(); ++g) {
        // A group that reaches its maximum below the level has a level of its own.
        std::vector<FillUnit> own;
        for (std::size_t j : members[g]) own.push_back({units[j].seconds, units[j].maximum, 0});
        const Units unbounded = packets < kNoLimit ? packets + 1 : packets;
        const bool full = finished_by(level_s, own, std::vector<Units>{unbounded}, unbounded) > group_maxima[g];
        const double own_level_s = full ? bisect_level(own, std::vector<Units>{unbounded}, group_maxima[g]) : level_s;
        for (std::size_t k = 0; k < own.size(); ++k)
            given[members[g][k]] = packets_within(own_level_s, own[k].seconds, own[k].maximum);
    }
    hand_out(units, group_maxima, packets, given);
    return given;
}

}  // namespace apportion
