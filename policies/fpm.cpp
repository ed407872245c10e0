// SPDX-License-Identifier: LGPL-2.1-or-later
//
// fpm: all processors finish at once by their functional performance models, piecewise linear and restricted in shape,
// by geometrical bisection (Clarke et al., FuPerMod, section 4; planners/geometric.hpp).
// Beyond the paper: the time functions are those of whole shares with their transfers, in blocks (recorded_plan.hpp);
// what the bisection decides in real numbers becomes whole granules by earliest finish.
// Optimal where times grow with sizes; slow outliers of a profile are left out of the model, and cost what they cost.
#include "policies/static_policy.hpp"

namespace apportion {

extern const char* const describe_fpm;
const char* const describe_fpm = "equal finish by bisection on recorded speed functions of restricted shape";

std::unique_ptr<Policy> make_fpm() {
    return std::make_unique<StaticPolicy>([](const RecordedProblem& problem) { return plan_curves(problem, "fpm"); });
}

}  // namespace apportion
