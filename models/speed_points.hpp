// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What was measured of a processor, and the speeds that follow: what the functional performance models have in common
// (Clarke et al., FuPerMod, section 4; Khaleghzadeh et al., HPOPTA, section 1).
#pragma once

#include <span>
#include <vector>

namespace apportion {

/// One measured block.
struct BlockTime {
    double units = 0;
    double seconds = 0;
};

/// Sizes closer than that count as one where fixed costs are told from the rest.
inline constexpr double kClearlyLarger = 1.25;

/// A point of a speed function.
struct SpeedPoint {
    double units = 0;
    double units_per_s = 0;
};

/// The measured speeds by ascending size. Samples of one size become one point of their mean time; samples that are not
/// positive and finite are skipped. O(m log m), O(m) when sorted.
std::vector<SpeedPoint> speed_points(std::span<const BlockTime> samples);

}  // namespace apportion
