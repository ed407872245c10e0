// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The functional performance model (FPM) with linear interpolation of the speed between measured sizes (FuPerMod,
// section 4). Beyond the largest measured size the speed stays as it was there; below the smallest one fixed costs stay
// (LineBelow), but as printed the speed does.
//
// Shape restriction (FuPerMod, Fig. 1a; Lastovetsky et al., EULAG, section 2): the speed first increases, concave, then
// decreases, and a straight line through the origin meets it once; then t(x) increases and bisection finds the one
// balanced distribution. Measured points that break this are left out as outliers. The papers do not say which ones;
// here the function is the upper envelope: left of the fastest point the concave hull over the origin, right of it the
// points that no larger size beats. Slow outliers (the usual kind: another job, a page fault, a bad size) go, fast
// points stay.
#pragma once

#include <optional>

#include "models/speed_points.hpp"

namespace apportion {

/// Sizes that were measured, smallest to largest [units].
struct MeasuredRange {
    double smallest = 0;
    double largest = 0;
};

class PiecewiseLinear {
  public:
    enum class Shape { as_measured, restricted, as_printed };  ///< the last two: restricted

    /// Nothing without a valid sample. O(m) for m sorted samples.
    static std::optional<PiecewiseLinear> through(std::span<const BlockTime> samples, Shape shape);

    double speed(double units) const;    ///< s(x) > 0 for x > 0 [units/s]
    double seconds(double units) const;  ///< t(x) for x >= 0; t(0) = 0

    /// The largest x with t(x) <= seconds, also for the measured shape, whose t may fall. O(log m).
    double units_within(double seconds) const;

    MeasuredRange range() const { return {points_.front().units, points_.back().units}; }

    /// The points in use, ascending, at least one.
    std::span<const SpeedPoint> points() const { return points_; }

  private:
    PiecewiseLinear(std::vector<SpeedPoint> points, Shape shape);
    std::size_t segment(double units) const;

    std::vector<SpeedPoint> points_;
    LineBelow below_;
    std::vector<double> soonest_s_;  ///< [k]: smallest t of points k, k + 1, ...; ascending
};

}  // namespace apportion
