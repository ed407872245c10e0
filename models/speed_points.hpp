// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What was measured of a processor, and the speeds that follow: what the functional performance models have in common
// (Clarke et al., FuPerMod, section 4; Khaleghzadeh et al., HPOPTA, section 1).
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

namespace apportion {

/// One measured block.
struct BlockTime {
    double units = 0;
    double seconds = 0;
};

/// What blocks of other sizes tell of one, of whose time function t(x) only that is assumed that neither it nor the
/// speed x / t(x) falls: larger ones take at least as long, smaller ones at least in proportion, and the other way
/// round at most.
struct TimeBounds {
    double least_s = 0;
    double most_s = std::numeric_limits<double>::infinity();
};

/// The tightest bounds by these samples (units > 0), of a block of `units`. O(samples).
template <class Samples>
TimeBounds bounds_by(const Samples& samples, double units) {
    TimeBounds bounds;
    for (const BlockTime& sample : samples) {
        const double ratio = units / sample.units;
        bounds.least_s = std::max(bounds.least_s, sample.seconds * std::min(1.0, ratio));
        bounds.most_s = std::min(bounds.most_s, sample.seconds * std::max(1.0, ratio));
    }
    return bounds;
}

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

/// Seconds of fewer units than were measured. The line through the smallest measured size and the first clearly larger
/// one goes on, as fixed costs do not shrink with a block; no block takes longer than a larger one or has a higher
/// speed. Without a second size all is in proportion.
struct LineBelow {
    double fixed_s = 0;
    double seconds_per_unit = 0;

    double seconds(double units) const { return units > 0 ? fixed_s + seconds_per_unit * units : 0; }
    /// s(x) = x / t(x); 0 < units.
    double speed(double units) const { return units / seconds(units); }
    /// The largest x with t(x) <= seconds, if that is below the measured sizes.
    double units_within(double seconds) const {
        return seconds > fixed_s && seconds_per_unit > 0 ? (seconds - fixed_s) / seconds_per_unit : 0;
    }
};

/// Below `smallest`; `larger`: the first clearly larger size, or nullptr.
LineBelow line_below(const BlockTime& smallest, const BlockTime* larger);

inline double seconds_of(const SpeedPoint& point) { return point.units / point.units_per_s; }
template <class Timed>
double seconds_of(const Timed& point) {
    return point.seconds;
}

/// Below the first of these points, which ascend; at least one.
template <class Points>
LineBelow line_below(const Points& points) {
    const auto time = [](const auto& p) { return BlockTime{static_cast<double>(p.units), seconds_of(p)}; };
    const BlockTime smallest = time(points.front());
    for (const auto& point : points)
        if (const BlockTime larger = time(point); larger.units >= kClearlyLarger * smallest.units)
            return line_below(smallest, &larger);
    return line_below(smallest, nullptr);
}

}  // namespace apportion
