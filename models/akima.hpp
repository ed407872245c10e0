// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The functional performance model with Akima's spline (H. Akima, J. ACM 17, 1970) through the measured speeds
// (FuPerMod, section 4, Fig. 1b): smooth, no restriction on the shape, and local, so that one odd point disturbs its
// neighbours only. Gives the numerical planner the continuous derivative that it needs.
//
// Beyond the largest measured size the speed stays as it was there; below the smallest one, beyond the paper, fixed
// costs stay (LineBelow). Where a piece would undershoot to less than half of
// its slower end (nearly a pole of t = x / s), the chord is taken instead. One point: a constant; two: a line.
#pragma once

#include <optional>

#include "models/speed_points.hpp"

namespace apportion {

class Akima {
  public:
    /// Nothing without a valid sample. O(m) for m sorted samples.
    static std::optional<Akima> through(std::span<const BlockTime> samples);

    double speed(double units) const;  ///< s(x) > 0 for x > 0 [units/s]
    double seconds(double units) const { return units > 0 ? units / speed(units) : 0; }
    double derivative(double units) const;  ///< t'(x)

  private:
    /// s = value + u (slope + u (second + u third)) with u = x - units, up to the next piece. The last one is constant.
    struct Piece {
        double units, value, slope, second, third;
    };
    const Piece* piece(double units) const;

    std::vector<Piece> pieces_;
    LineBelow below_;
};

}  // namespace apportion
