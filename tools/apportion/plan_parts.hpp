// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What `apportion plan` is made of, a section for each file of that name.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/profile_file.hpp"
#include "policies/planners/assignment/data_assignment.hpp"
#include "policies/planners/planner.hpp"
#include "policies/planners/planner_table.hpp"
#include "policies/policy.hpp"

namespace apportion {

/// Of an answer, for people or for programs.
enum class Form { table, json };

// How `apportion plan` shows plans: as tables, and as JSON with the keys algorithm, units, makespan_seconds,
// bound_by, solve_seconds, lower_bound_seconds, optimal, interpolated, shares: [{processor, units, seconds}]; for a
// matrix also shape, half_perimeters, half_perimeters_of_columns, and each share has rectangles: [{first_row,
// first_column, rows, columns}].

/// What all plans of one call share.
struct PlanSubject {
    Units units = 0;
    std::vector<std::string> processors;
    const PlanProblem* profile = nullptr;  ///< null: every size has a known time
    Units matrix_side = 0;                 ///< of the matrix whose blocks are the units, arranged in a shape; 0: none
};

/// One plan: a line per processor, and a summary; or an object.
std::string plan_text(const PlanSubject& subject, const Plan& plan, Form form);

/// Several plans, a line each, in the order given; a plan without solution says why below the table. Or a list of
/// objects, without those that have no solution.
std::string plans_text(const PlanSubject& subject, std::span<const Plan> plans, Form form);

// `apportion plan --condition`: whether balancing is optimal on a profile (planners/balance_condition.hpp), and what
// `hpopta` gains there over the planners that balance, for many numbers of units, as HPOPTA (section 6.2) reports it:
// equal shares, constant speeds of a small, a middle and a large reference size, FuPerMod's functional models, and the
// paper's smoothed ones (planners/smooth_fpm.hpp).
//
// The gain is (t_other - t_hpopta) / t_hpopta. The paper prints the formula for FPM with t_other below, but its results
// above 100 % need t_hpopta there. Only distributions of measured sizes are compared, because interpolated times are
// no match for measured ones; so every planner keeps to the grid and to the ends of the measured sizes. Constant speeds
// (`cpm`) know no ends: as in the paper, numbers of units of which a share exceeds the largest size are left out.

/// Of the sizes that the problem's granularity and maxima allow. `numbers` of units are > 0 and ascending; none: up to
/// 2000 between a twentieth and all of what the processors can take. `references`: sizes whose speed `cpm` knows; none:
/// a tenth, a half and all of those of everyone. Throws UserError when no number can be distributed.
/// O(points) for each number and planner, besides `hpopta`.
///
/// As JSON an object: holds, processors: [{processor, sizes, holds, violations, worst}], granularity, numbers,
/// first_units, last_units, gains: [{over, reference_units, numbers, left_out, minimum_percent, average_percent,
/// maximum_percent, maximum_at_units}]; null where there is nothing to tell.
std::string condition_text(const PlanProblem& problem, const std::vector<Units>& numbers,
                           const std::vector<Units>& references, Form form);

// `apportion plan --policies`: how long the load would take under each policy, which gives the same blocks as in
// earnest, with what each costs and with the transfers that the profile has.

/// The load of the profile's processors. Those with transfers have a memory of their own; those with the same times are
/// of one kind.
LoadDescription load_of_profile(const Profile& profile, Units units, Units granularity);

/// The policies that are named, "all" for all. Throws UserError: there is no such policy, or none of them can run it.
std::string policies_text(const LoadDescription& load, const std::vector<std::string>& names, Form form);

// A picture of the models over the measured data: speed over size, one panel per processor, drawn by gnuplot, with the
// shares of plans.

/// Writes a PNG, SVG or PDF file of speeds, in which x units are x^work_power of work. Of plans without solution
/// nothing is drawn. Throws UserError.
void plot_models(const Profile& profile, std::span<const Plan> plans, double work_power, const std::string& path);

}  // namespace apportion
