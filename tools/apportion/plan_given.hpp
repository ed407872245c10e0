// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion plan --shares`: how long a distribution takes that is given rather than planned, such as the arbitrary
// ones that the data assignment paper compares with, or the offsets of the load imbalancing paper.
#pragma once

#include <string>
#include <vector>

#include "policies/planners/assignment/data_assignment.hpp"
#include "policies/planners/planner.hpp"

namespace apportion {

/// "212,100,...": one share for each processor, in their order. Throws UserError.
std::vector<Units> parse_shares(const std::string& text, const std::vector<std::string>& processors);

/// Throws UserError for a share that is no measured size.
Plan given_plan(const PlanProblem& problem, const std::vector<Units>& shares);

/// Memory limits are the caller's: a given distribution is judged also where it exceeds them.
Plan given_plan(const DataAssignment& problem, const std::vector<Units>& shares);

}  // namespace apportion
