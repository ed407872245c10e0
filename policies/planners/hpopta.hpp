// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `hpopta`: the smallest makespan over arbitrary discrete time functions, exactly (the problem HPOPT of Khaleghzadeh,
// Reddy, Lastovetsky, section 3). Any processor may get nothing, a size may be missing, a larger size may take less
// time.
//
// The paper's branch and bound is `hpopta-published`. This one works with deficits:
//   1. lower bound: the smallest tau at which the largest sizes within tau add up to n (hpopta_envelopes.hpp);
//   2. is there a distribution within it? a subset sum of the few units too many (hpopta_deficits.hpp);
//   3. if not, tau gallops upwards until there is, and the optimum is selected among the few times in between.
// Every step below the answer is proven to have no distribution, so the makespan is proven. Among the optimal
// distributions it takes the one that moves the fewest units from PlanProblem::previous, where that is given, then the
// one whose second-largest time is smallest (hpopta_ties.hpp). Where too many sizes come into question for that, more
// than 100 of each without previous shares, it takes any.
//
// Good for every profile; near the cost of reading it where times grow roughly with sizes. On times without any order
// (every third size takes a hundred times longer) the subset sums get as long as n.
#pragma once

#include <memory>
#include <span>

#include "policies/planners/planner.hpp"

namespace apportion {

/// `problem` must be valid (why_invalid in discrete_problem.hpp).
Plan plan_hpopta(const PlanProblem& problem);

/// Further n on the same profile, granularity and maxima: without reading the profile again.
class PreparedHpopta {
  public:
    /// `problem` must be valid and outlive it; its `units` and `previous` are ignored.
    explicit PreparedHpopta(const PlanProblem& problem);
    ~PreparedHpopta();

    /// `previous` instead of the problem's: one share for each processor, or empty.
    Plan plan(Units units, std::span<const Units> previous = {});

    /// The smallest makespan alone; infinity when there is no distribution.
    double makespan_s(Units units);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace apportion
