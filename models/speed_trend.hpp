// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A smoothed speed function: the polynomial trend line through measured speeds, as Khaleghzadeh, Reddy, Lastovetsky
// smooth theirs in a spreadsheet to show what balancing on smooth functions loses (HPOPTA, section 6.2, Fig. 13, 15).
//
// They do not tell the degree. Here it is the one of 0 to 10 with the smallest corrected Akaike criterion among those
// whose trend is positive at all measured sizes, with at least four sizes for each power; so noise is smoothed away and
// as much of the shape is kept as the data tell. Plain least squares of the speeds, as a spreadsheet does.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/speed_points.hpp"

namespace apportion {

class SpeedTrend {
  public:
    /// Through `samples` (units > 0, seconds > 0), or nothing when there is none or a speed is too large for a number.
    /// O(samples).
    static std::optional<SpeedTrend> through(std::span<const BlockTime> samples);

    /// Units per second; > 0 at the measured sizes, which is where it may be used.
    double speed(double units) const;
    double seconds(double units) const { return units / speed(units); }

  private:
    SpeedTrend(double middle, double half_width) : middle_(middle), half_width_(half_width) {}

    double middle_, half_width_;        ///< of the measured sizes, which become [-1, 1]
    std::vector<double> coefficients_;  ///< of Legendre's polynomials
};

}  // namespace apportion
