// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cpm: shares in proportion to one constant speed per processor (constant performance model; Clarke et al., FuPerMod,
// section 4; HPOPTA, section 6). The speed is that of an equal share, n / p units: HPOPTA's comparison takes reference
// sizes of its own, FuPerMod one size that is given.
// Beyond the papers: the speed is that of the whole share with its transfers, in blocks (recorded_plan.hpp).
// Good where speeds hardly depend on the size; else the yardstick for the functional models.
#include "policies/static_policy.hpp"

namespace apportion {

extern const char* const describe_cpm;
const char* const describe_cpm = "shares in proportion to one recorded speed of each processor";

std::unique_ptr<Policy> make_cpm() {
    return std::make_unique<StaticPolicy>([](const RecordedProblem& problem) { return plan_curves(problem, "cpm"); });
}

}  // namespace apportion
