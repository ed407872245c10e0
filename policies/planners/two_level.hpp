// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `two-level`: first over nodes, then over the processors of each node (HPOPTA's paper, section 6.3). A node's time
// function is its best-time curve: the smallest makespan of its processors for every number of units, by hpopta. With
// whole curves the result is as good as hpopta's on all processors at once. Good for many nodes whose curves are kept;
// for one n hpopta alone is faster.
#pragma once

#include <span>

#include "policies/planners/discrete_problem.hpp"
#include "policies/planners/planner.hpp"

namespace apportion {

/// The smallest makespan of the processors together for every number of units up to `limit` that they can compute; the
/// seconds of any zero units are not listed. One search of hpopta's for each multiple of the sizes' greatest common
/// divisor. Throws std::length_error when the curve would have more than 2^26 points, or as hpopta's search does.
DiscreteTimes best_time_curve(std::span<const SizeTimes> processors, Units limit);

/// `node_of[i]` numbers the node of processor i. `problem` must be valid.
Plan plan_two_level(const PlanProblem& problem, std::span<const int> node_of);

/// Nodes by name: processor "node7/CPU 0" is in "node7"; processors without '/' are one node.
Plan plan_two_level(const PlanProblem& problem);

}  // namespace apportion
