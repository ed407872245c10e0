// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The functional performance model (FPM) with linear interpolation of the speed between measured sizes (FuPerMod,
// section 4). Below the smallest and beyond the largest measured size the speed stays as it was there.
//
// Shape restriction (FuPerMod, Fig. 1a; Lastovetsky et al., EULAG, section 2): the speed first increases, concave, then
// decreases, and a straight line through the origin meets it once; then t(x) increases and bisection finds the one
// balanced distribution. Measured points that break this are left out as outliers. The papers do not say which ones;
// here the function is the upper envelope: left of the fastest point the concave hull over the origin, right of it the
// points that no larger size beats. Slow outliers (the usual kind: another job, a page fault, a bad size) go, fast
// points stay.
#pragma once

#include "models/time_function.hpp"

namespace apportion {

class PiecewiseLinear final : public SpeedFunction {
  public:
    enum class Shape { as_measured, restricted };

    /// Nothing without a valid sample. O(m) for m sorted samples.
    static std::optional<PiecewiseLinear> through(std::span<const BlockTime> samples, Shape shape);

    double speed(double units) const override;
    double speed_slope(double units) const override;

    /// Also for the measured shape, whose t may fall: the largest x there is. O(log m).
    std::optional<double> units_within(double seconds) const override;
    MeasuredRange range() const override { return {points_.front().units, points_.back().units}; }

    /// The points in use, ascending.
    std::span<const SpeedPoint> points() const { return points_; }

  private:
    explicit PiecewiseLinear(std::vector<SpeedPoint> points);
    std::size_t segment(double units) const;

    std::vector<SpeedPoint> points_;
    std::vector<double> soonest_s_;  ///< [k]: smallest t of points k, k + 1, ...; ascending
};

}  // namespace apportion
