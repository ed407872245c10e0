// SPDX-License-Identifier: LGPL-2.1-or-later
// In the place of ilp_milp.cpp where lp_solve is not installed.
#include "policies/planners/assignment/data_assignment.hpp"

namespace apportion {

bool has_milp_solver() { return false; }

Plan plan_ilp_milp(const DataAssignment& problem, const MilpOptions&) {
    Plan plan;
    plan.failure = why_impossible(problem);
    if (plan.failure.empty())
        plan.failure =
            "this program was built without lp_solve; install it and build again, or use ilp, which finds the optimum";
    return plan;
}

}  // namespace apportion
