// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How `apportion plan` shows plans: as tables, and as JSON with the keys algorithm, units, makespan_seconds,
// bound_by, solve_seconds, lower_bound_seconds, optimal, interpolated, shares: [{processor, units, seconds}]; for a
// matrix also shape, half_perimeters, half_perimeters_of_columns, and each share has rectangles: [{first_row,
// first_column, rows, columns}].
#pragma once

#include <span>
#include <string>

#include "policies/planners/planner.hpp"

namespace apportion {

/// What all plans of one call share.
struct PlanSubject {
    Units units = 0;
    std::vector<std::string> processors;
    const PlanProblem* profile = nullptr;  ///< null: every size has a known time
    Units matrix_side = 0;                 ///< of the matrix whose blocks are the units, arranged in a shape; 0: none
};

/// Whether the plan's times are those of measured sizes; else some are interpolated or continued.
bool is_measured(const PlanSubject& subject, const Plan& plan);

/// Index of the processor whose share takes longest; of several, the first.
std::size_t binding_processor(const Plan& plan);

/// One plan: a line per processor, and a summary.
std::string plan_table(const PlanSubject& subject, const Plan& plan);

/// Several plans, a line each, in the order given; a plan without solution says why below the table.
std::string comparison_table(const PlanSubject& subject, std::span<const Plan> plans);

/// An object; for several plans a list of objects, without those that have no solution.
std::string plan_json(const PlanSubject& subject, const Plan& plan);
std::string comparison_json(const PlanSubject& subject, std::span<const Plan> plans);

}  // namespace apportion
