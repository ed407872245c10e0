// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `ilp-milp`: the data assignment as Boinski and Czarnul solve it (sections 3 and 4.5.4): a mixed-integer linear
// program for lp_solve, ended by a time limit, after which the best solution so far is taken.
//
//     serial     minimise C + sum of w_N d_N       subject to  c_j d_j <= C for every unit
//     parallel   minimise T                        subject to  2 a_N + w_N d_N + c_j d_j <= T for every unit j of N
//     both       sum of d_j = n, the maxima, d_j whole
//
// Beyond the paper: min-min v2 is the answer where the solver has found nothing better in time. `ilp` finds the optimum
// of the same problem in milliseconds; this one is for comparison, and for extensions without that structure.
#pragma once

#include "policies/planners/assignment/data_assignment.hpp"

namespace apportion {

struct MilpOptions {
    double time_limit_s = 30;  ///< section 4.5.4: 30, 60, 90 s
};

/// Without lp_solve there is no `ilp-milp`: its plan is a failure that says so.
bool has_milp_solver();

Plan plan_ilp_milp(const DataAssignment& problem, const MilpOptions& options = {});

}  // namespace apportion
