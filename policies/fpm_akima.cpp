// SPDX-License-Identifier: LGPL-2.1-or-later
//
// fpm-akima: all processors finish at once by their functional performance models, Akima splines of any smooth shape,
// by Newton's method (Clarke et al., FuPerMod, section 4; planners/numerical.hpp). Beyond the paper: the time functions
// are those of whole shares with their transfers, in blocks (recorded_plan.hpp). Good for smooth profiles of any shape;
// of several balanced distributions it finds the one near fpm's.
#include "policies/static_policy.hpp"

namespace apportion {

extern const char* const describe_fpm_akima;
const char* const describe_fpm_akima = "equal finish by Newton's method on splines of recorded speeds";

std::unique_ptr<Policy> make_fpm_akima() {
    return std::make_unique<StaticPolicy>(
        [](const RecordedProblem& problem) { return plan_curves(problem, "fpm-akima"); });
}

}  // namespace apportion
