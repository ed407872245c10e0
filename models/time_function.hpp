// SPDX-License-Identifier: LGPL-2.1-or-later
//
// t(x): seconds that one processor needs for x units, continued over all real x >= 0 with t(0) = 0; the speed is
// s(x) = x / t(x). What the constant and the functional performance models have in common (Clarke et al., FuPerMod,
// section 4; Khaleghzadeh et al., HPOPTA, section 1).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/fitted_curve.hpp"

namespace apportion {

/// Sizes that were measured, smallest to largest [units].
struct MeasuredRange {
    double smallest = 0;
    double largest = 0;
};

class TimeFunction {
  public:
    virtual ~TimeFunction() = default;

    virtual double seconds(double units) const = 0;     ///< t(x) for x >= 0
    virtual double derivative(double units) const = 0;  ///< t'(x); at a kink the slope to its right

    /// Inverse: the largest x with t(x) <= seconds. Nothing where the model cannot tell (t may fall).
    virtual std::optional<double> units_within(double seconds) const = 0;

    virtual MeasuredRange range() const = 0;
};

/// A time function that is given by its speed: t = x / s, t' = (s - x s') / s^2.
class SpeedFunction : public TimeFunction {
  public:
    virtual double speed(double units) const = 0;        ///< s(x) > 0 [units/s]
    virtual double speed_slope(double units) const = 0;  ///< s'(x)

    double seconds(double units) const override { return units / speed(units); }
    double derivative(double units) const override {
        const double s = speed(units);
        return (s - units * speed_slope(units)) / (s * s);
    }
};

/// A point of a speed function.
struct SpeedPoint {
    double units = 0;
    double units_per_s = 0;
};

/// The measured speeds by ascending size. Samples of one size become one point of their mean time; samples that are not
/// positive and finite are skipped. O(m log m), O(m) when sorted.
std::vector<SpeedPoint> speed_points(std::span<const BlockTime> samples);

}  // namespace apportion
