// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The envelopes of all processors merged, for many n on the same profile. M_i(tau) changes only at the steps of the
// envelope of i: the sizes that take less time than every larger one. In order of time, with the sums of the M_i after
// each, the bound is found by a binary search. Every so many steps there is a row of all M_i, so that a few steps from
// it the M_i of the bound are known, too, without a search for each processor. Sorting the steps once costs more than
// one n without them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/planners/discrete_problem.hpp"

namespace apportion {

class MergedEnvelopes {
  public:
    /// O(steps log steps), at most as many steps as points.
    explicit MergedEnvelopes(std::span<const SizeTimes> processors);

    /// The smallest tau with sum of M_i(tau) >= `units` > 0, or infinity. O(log steps + processors).
    double bound(Units units);

    /// Number of points up to the largest size within the latest bound, if that was finite; 0 if there is none.
    std::size_t count_within_bound(std::size_t processor) const { return counts_[processor]; }

  private:
    struct Step {
        double seconds;
        Units sum;                       ///< of all M_i after the step
        std::uint32_t processor, count;  ///< its points up to this one
    };

    std::size_t stride_;                 ///< steps from row to row
    std::vector<Step> steps_;            ///< of all processors, by time
    std::vector<Units> sums_;            ///< of the last step of each row
    std::vector<std::uint32_t> rows_;    ///< counts of all processors before the first step of each row
    std::vector<std::uint32_t> counts_;  ///< at the latest bound
};

}  // namespace apportion
