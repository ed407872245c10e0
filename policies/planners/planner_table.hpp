// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tables of planners by name: for profiles (PlanProblem) and for data assignment instances. To add a planner, write
// it in a file of its own and add one line to a list in planner_table.cpp; `apportion plan`, its help and the tests of
// what every planner must do read the tables.
#pragma once

#include <span>
#include <string_view>

#include "policies/planners/assignment/data_assignment.hpp"
#include "policies/planners/planner.hpp"

namespace apportion {

struct PlannerEntry {
    const char* name;
    Plan (*plan)(const PlanProblem&);
};

struct AssignmentPlannerEntry {
    const char* name;
    Plan (*plan)(const DataAssignment&, double time_limit_s);  ///< exact solvers that need no limit ignore it
};

std::span<const PlannerEntry> registered_planners();
std::span<const AssignmentPlannerEntry> registered_assignment_planners();

/// The entry of that name, or nullptr.
const PlannerEntry* find_planner(std::string_view name);
const AssignmentPlannerEntry* find_assignment_planner(std::string_view name);

/// Runs it and fills in Plan::algorithm and Plan::solve_s (wall time).
Plan run_planner(const PlannerEntry& planner, const PlanProblem& problem);
Plan run_planner(const AssignmentPlannerEntry& planner, const DataAssignment& problem, double time_limit_s);

}  // namespace apportion
