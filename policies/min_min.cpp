// SPDX-License-Identifier: LGPL-2.1-or-later
//
// min-min: every packet to the unit that would finish it first, with transfers and start-up in its cost: version 2 of
// the heuristic that Boinski and Czarnul compare with (The Computer Journal 2021, section 4.4; planners/min_min.hpp).
// Beyond the paper: costs of a packet follow from the share, blocks and overlap included (assignment_plan.hpp).
#include "policies/assignment_plan.hpp"
#include "policies/static_policy.hpp"

namespace apportion {

extern const char* const describe_min_min;
const char* const describe_min_min = "each unit to the processor that would finish it first, by recorded costs";

std::unique_ptr<Policy> make_min_min() {
    return std::make_unique<StaticPolicy>(
        [](const RecordedProblem& problem) { return plan_assignment(problem, "min-min-v2"); });
}

}  // namespace apportion
