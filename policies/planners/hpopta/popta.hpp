// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `popta`: identical processors (the problem POPT of Lastovetsky, Reddy 2017, reference 9 of HPOPTA's paper): one time
// function, any shape, shares that need not be equal. Exact. The published algorithm is a dynamic programme of
// O(m^2 p^2); here it is hpopta.
#pragma once

#include "policies/planners/planner.hpp"

namespace apportion {

/// `problem` must be valid; a failure when two processors differ in a size, a time or their maximum.
Plan plan_popta(const PlanProblem& problem);

}  // namespace apportion
