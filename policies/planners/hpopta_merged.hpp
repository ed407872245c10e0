// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The envelopes of all processors merged, for many n on the same profile. M_i(tau) changes only at the steps of the
// envelope of i: the sizes that take less time than every larger one. In order of time, with the sums of the M_i after
// each, the bound is found by a binary search. Sorting the steps once costs more than one n without them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "policies/planners/discrete_problem.hpp"

namespace apportion {

class MergedEnvelopes {
  public:
    /// O(steps log steps), at most as many steps as points.
    explicit MergedEnvelopes(std::span<const SizeTimes> processors);

    /// The smallest tau with sum of M_i(tau) >= `units`, or infinity. O(log steps).
    double bound(Units units) const;

    /// Number of points up to the largest size within tau, 0 if there is none. O(log steps).
    std::size_t count_within(std::size_t processor, double tau) const;

  private:
    struct Step {
        double seconds;
        std::size_t count;  ///< points up to this one
    };

    std::vector<std::vector<Step>> steps_;  ///< of each processor, ascending
    std::vector<double> seconds_;           ///< of all steps, ascending
    std::vector<Units> sums_;               ///< of the M_i after each of them
};

}  // namespace apportion
