// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `plb-hec` from a recorded profile: a least-squares curve per processor (PLB-HeC, section III.B) and the equal-finish
// problem over them, solved by IPOPT (section III.C). The policy of that name does the same with what it measures
// itself. The times in a profile contain the transfers.
#pragma once

#include "policies/planners/planner.hpp"

namespace apportion {

Plan plan_plb_hec(const PlanProblem& problem);

}  // namespace apportion
