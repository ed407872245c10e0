// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `imbalance`: Algorithm 1 of Lastovetsky, Szustak, Wyrzykowski (EULAG, section 4). Identical processors in two equal
// teams; from the balanced distribution on, the right team's shares grow by one granule a step and the left team's
// shrink, and the distribution of the smallest time is kept. Pays where a larger size can take less time.
//
// Readings: the loop ends "until x_r < n & x_l > 0" in print, which is true after the first step; "while" is meant. The
// even processors are the left team (section 5.4). The one time function is the mean over the processors, at the sizes
// that all of them have measured; other sizes are no candidates. Not optimal, and does not claim to be.
// Beyond the paper: an odd processor keeps n / p; maxima.
#pragma once

#include "policies/planners/planner.hpp"

namespace apportion {

/// Equal shares, those of the even processors less by the offset, those of the odd ones more; a last one without
/// partner keeps its.
std::vector<Units> team_shares(std::size_t processors, Units balanced, Units offset);

/// n must be a multiple of p times the granularity, and n / p a measured size. O(p m).
Plan plan_imbalance(const PlanProblem& problem);

}  // namespace apportion
