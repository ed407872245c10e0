// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The heuristics that Boinski and Czarnul compare with (section 4.4), on the problem of data_assignment.hpp.
//  - `min-min`: packets go one by one to the unit that would finish first. Each unit's transfers are its own, in
//    parallel with all others, whatever the network of the problem: a packet takes w_N plus its computing. v1 knows
//    the computing alone, v2 start-up and clean-up as well (c_j).
//  - `proportional`: in proportion to the speed of the computing alone, no transfers. What memory limits cut off goes
//    to the other nodes in proportion.
// Their plans are judged by the same makespan as the optimal one.
#pragma once

#include "policies/planners/assignment/data_assignment.hpp"

namespace apportion {

Plan plan_min_min_v1(const DataAssignment& problem);
Plan plan_min_min_v2(const DataAssignment& problem);
Plan plan_proportional(const DataAssignment& problem);

}  // namespace apportion
