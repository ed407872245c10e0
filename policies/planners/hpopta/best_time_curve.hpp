// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The time function of a node, for planning in two levels: first over nodes, then over the processors of each (HPOPTA's
// paper, section 6.3). With whole curves the result is as good as hpopta's on all processors at once.
#pragma once

#include <span>

#include "policies/planners/discrete_problem.hpp"

namespace apportion {

/// The smallest makespan of the processors together for every number of units up to `limit` that they can compute; the
/// seconds of any zero units are not listed. One search of hpopta's for each multiple of the sizes' greatest common
/// divisor. Throws std::length_error when the curve would have more than 2^26 points, or as hpopta's search does.
DiscreteTimes best_time_curve(std::span<const SizeTimes> processors, Units limit);

}  // namespace apportion
