// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/constant.hpp"

#include <algorithm>
#include <cmath>

namespace apportion {

std::optional<Constant> Constant::at(std::span<const BlockTime> samples, double units) {
    const std::vector<SpeedPoint> points = speed_points(samples);
    if (points.empty()) return std::nullopt;
    const SpeedPoint& nearest = *std::min_element(points.begin(), points.end(), [&](const auto& a, const auto& b) {
        return std::abs(a.units - units) < std::abs(b.units - units);
    });
    return Constant({nearest.units, nearest.units / nearest.units_per_s});
}

}  // namespace apportion
