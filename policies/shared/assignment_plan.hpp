// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A recorded problem as the data assignment problem of Boinski and Czarnul (planners/assignment/data_assignment.hpp):
// main memory with all its processors is one node without transfers, and each device with its own memory is a node of
// one unit.
//
// What a packet costs is constant in that model: c_j the kernels' seconds, w_N the transfers' that are not hidden
// behind kernels (the paper's "effective" bandwidth), a_N half of the link's latency. Here they depend on the share,
// through start-up, blocks and overlap. So they are taken from the best-time curve at the share of the plan before, at
// first an equal one, until the shares stay; the plan of the smallest makespan is kept. Memory bounds blocks, not
// shares: a share that exceeds it runs as several blocks, which c_j and w_N contain.
//
// A serial network is the paper's, whose transfers neither overlap each other nor kernels: w_N is all of them, and a
// plan is judged by the sum. StarPU overlaps both, so that it is no prediction here.
#pragma once

#include "policies/planners/assignment/data_assignment.hpp"
#include "policies/shared/recorded_plan.hpp"

namespace apportion {

/// By the assignment planner of that name (planner_table.hpp).
Plan plan_assignment(const RecordedProblem& problem, const char* planner, Network network);

}  // namespace apportion
