// SPDX-License-Identifier: LGPL-2.1-or-later
//
// ilp: the optimal assignment of equal packets of data to nodes and their units, with transfers and start-up (Boinski,
// Czarnul, The Computer Journal 2021, section 3; planners/ilp.hpp, by the problem's structure rather than a solver).
// Beyond the paper: costs of a packet follow from the share, blocks and overlap included (assignment_plan.hpp).
// Good where transfers matter and costs grow with the share.
#include "policies/assignment_plan.hpp"
#include "policies/static_policy.hpp"

namespace apportion {

extern const char* const describe_ilp;
const char* const describe_ilp = "optimal assignment by recorded costs of a unit, its transfers and start-up";

std::unique_ptr<Policy> make_ilp() {
    return std::make_unique<StaticPolicy>(
        [](const RecordedProblem& problem) { return plan_assignment(problem, "ilp"); });
}

}  // namespace apportion
