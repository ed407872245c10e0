// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `hpopta`: the smallest makespan over arbitrary discrete time functions, exactly (the problem HPOPT of Khaleghzadeh,
// Reddy, Lastovetsky, section 3). Any processor may get nothing, a size may be missing, a larger size may take less
// time. README.md in this folder explains the method; the paper's branch and bound is `hpopta-published`.
//
// Among the optimal distributions it takes the one that moves the fewest units from PlanProblem::previous, where that
// is given, then the one whose second-largest time is smallest. Where too many sizes come into question for that it
// takes any: without previous shares, more than 100 of each processor, or more than 1000 that take the makespan.
//
// Good for every profile; near the cost of reading it where times grow roughly with sizes. On times without any order
// (every third size takes a hundred times longer) the subset sums get as long as n.
#pragma once

#include <span>
#include <string>

#include "policies/planners/discrete_problem.hpp"
#include "policies/planners/hpopta/search.hpp"

namespace apportion {

/// `problem` must be valid (why_invalid in discrete_problem.hpp).
Plan plan_hpopta(const PlanProblem& problem);

/// Further n on the same profile, granularity and maxima: without reading the profile again.
class PreparedHpopta {
  public:
    /// `problem` must be valid and outlive it; its `units` and `previous` are ignored.
    explicit PreparedHpopta(const PlanProblem& problem) : problem_(problem, kNoLimit), search_(problem_.processors()) {
        search_.prepare();
    }

    /// `previous` instead of the problem's: one share for each processor, or empty.
    Plan plan(Units units, std::span<const Units> previous = {});

    /// The smallest makespan alone; infinity when there is no distribution.
    double makespan_s(Units units) { return search_.makespan_s(units); }

  private:
    DiscreteProblem problem_;
    HpoptaSearch search_;
};

/// Why a plan failed that met std::length_error.
inline constexpr const char* kTooManySums =
    "the sizes have too many different sums to compute an optimal distribution; give a coarser granularity or regular "
    "sizes";

}  // namespace apportion
