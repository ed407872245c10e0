// SPDX-License-Identifier: LGPL-2.1-or-later
//
// hpopta: the smallest makespan over discrete time functions of any shape; a processor may get nothing, and processors
// need not finish together (Khaleghzadeh, Reddy, Lastovetsky, HPOPTA, sections 3-5; planners/hpopta/hpopta.hpp, exact).
// Beyond the paper: the time functions are those of whole shares with their transfers, in blocks; a sparse profile is
// planned at interpolated sizes, a fine one at recorded sizes only, holes left out (recorded_plan.hpp has the rule).
// Good for every profile; of use where times do not grow smoothly with sizes.
#include "policies/static_policy.hpp"

namespace apportion {

extern const char* const describe_hpopta;
const char* const describe_hpopta = "smallest makespan for recorded times of any shape";

std::unique_ptr<Policy> make_hpopta() {
    return std::make_unique<StaticPolicy>(
        [](const RecordedProblem& problem) { return plan_curves(problem, "hpopta"); });
}

}  // namespace apportion
