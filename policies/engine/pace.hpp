// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long a processor's blocks should take at most, by the last few that it finished. Two things are assumed of a time
// function t(x), and no more: it does not fall, and neither does the speed x / t(x). So one block of x units bounds all
// others: y <= x units take at most t(x), y > x units at most t(x) y / x. The tightest bound counts.
#pragma once

#include <deque>
#include <limits>

#include "policies/policy.hpp"

namespace apportion {

class Pace {
  public:
    /// A block of `units` >= 1 took `seconds` >= 0.
    void add(Units units, double seconds);

    bool known() const { return !samples_.empty(); }

    /// Seconds that `units` should take at most; infinite while nothing is known. O(1).
    double at_most_s(Units units) const;

    /// The most units that should take no longer than that; 0: none. O(1).
    Units within(double seconds) const;

  private:
    struct Sample {
        double units = 0;
        double seconds = 0;
    };
    std::deque<Sample> samples_;
};

}  // namespace apportion
