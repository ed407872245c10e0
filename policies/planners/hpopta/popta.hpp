// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `popta-published`: identical processors (the problem POPT of Lastovetsky, Reddy 2017, reference 9 of HPOPTA's paper):
// one time function, any shape, shares that need not be equal. Dynamic programming, O(m^2 p^2) for n = m p: the
// smallest makespan of 1, 2, ... p processors for every number of units. HPOPTA's paper tells the problem, the
// complexity and the use of this algorithm (section 6.3); that it is this dynamic programme is a reading. `hpopta`
// solves the problem as well, for processors that differ or not.
#pragma once

#include "policies/planners/planner.hpp"

namespace apportion {

/// `problem` must be valid; a failure when two processors differ in a size, a time or their maximum.
Plan plan_popta_published(const PlanProblem& problem);

}  // namespace apportion
