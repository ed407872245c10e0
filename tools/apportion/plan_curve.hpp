// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion plan --curve`: the best time over the number of units, and which processor binds it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policies/planners/planner_table.hpp"

namespace apportion {

/// Plans each of the numbers of units; those that the measured sizes do not add up to are Plans with a failure.
std::vector<Plan> best_times(const PlannerEntry& planner, PlanProblem problem, std::span<const Units> numbers);

/// A line, or an object, for each: units, seconds, what a further unit costs from the line before on, and the processor
/// that binds.
std::string curve_table(const PlanProblem& problem, std::span<const Units> numbers, std::span<const Plan> plans);
std::string curve_json(const PlanProblem& problem, std::span<const Units> numbers, std::span<const Plan> plans);

}  // namespace apportion
