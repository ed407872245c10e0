// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/speed_points.hpp"

#include <algorithm>
#include <cmath>

namespace apportion {

std::vector<SpeedPoint> speed_points(std::span<const BlockTime> samples) {
    std::vector<BlockTime> sorted;
    sorted.reserve(samples.size());
    for (const BlockTime& s : samples)
        if (s.units > 0 && s.seconds > 0 && std::isfinite(s.units) && std::isfinite(s.seconds)) sorted.push_back(s);
    auto by_units = [](const BlockTime& a, const BlockTime& b) { return a.units < b.units; };
    if (!std::ranges::is_sorted(sorted, by_units)) std::ranges::sort(sorted, by_units);

    std::vector<SpeedPoint> points;
    points.reserve(sorted.size());
    for (std::size_t first = 0, next; first < sorted.size(); first = next) {
        double sum_s = 0;
        for (next = first; next < sorted.size() && sorted[next].units == sorted[first].units; ++next)
            sum_s += sorted[next].seconds;
        points.push_back({sorted[first].units, sorted[first].units * static_cast<double>(next - first) / sum_s});
    }
    return points;
}

LineBelow line_below(const BlockTime& smallest, const BlockTime* larger) {
    const double proportional = smallest.seconds / smallest.units;
    if (!larger) return {0, proportional};
    const double slope = (larger->seconds - smallest.seconds) / (larger->units - smallest.units);
    if (slope >= proportional) return {0, proportional};
    return {smallest.seconds - std::max(slope, 0.0) * smallest.units, std::max(slope, 0.0)};
}

}  // namespace apportion
