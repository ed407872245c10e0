// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `smooth-fpm`: balancing on smoothed functions as HPOPTA's authors compare with it (Khaleghzadeh, Reddy, Lastovetsky,
// section 6.2): HPOPTA's optimum for the smoothed time functions (models/speed_trend.hpp), judged by the measured
// times. What it takes longer than `hpopta` is what the roughness of a profile is worth.
#pragma once

#include "policies/planners/planner.hpp"

namespace apportion {

/// The same sizes with smoothed times. The speed of the problem's work is smoothed: its power is 1, or 3 where a share
/// is a multiplication of x x x matrices, as in the paper's profiles.
PlanProblem smoothed(const PlanProblem& problem);

/// `problem` must be valid (why_invalid in discrete_problem.hpp). Shares are measured sizes.
Plan plan_smooth_fpm(const PlanProblem& problem);

}  // namespace apportion
