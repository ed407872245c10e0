// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Recorded times of nodes, for outer policies that plan from a profile: a node's time function is the smallest makespan
// of its processors for each number of units, from the recorded times of each (two levels, as in HPOPTA's section 6.3
// and Clarke et al., 2012).
#pragma once

#include "policies/mpi/world.hpp"
#include "policies/policy.hpp"
#include "policies/starpu/apportion.h"

namespace apportion {

/// Whether something is recorded or learnt of this node, or nothing will ever be learnt.
bool knows_own_times(const apportion_load_options& options);

/// Collective. One processor per node, which stands for all of its workers. When a node has no record, none is usable,
/// and the problem is its.
RecordedTimes recorded_times_of_nodes(const World& world, const apportion_load_options& options);

}  // namespace apportion
