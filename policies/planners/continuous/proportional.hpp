// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shares in proportion to one number per processor. `equal`: all the same (HPOPTA, section 6; the yardstick). `cpm`:
// the constant speed of one measured point (FuPerMod, section 4), by default the measured size nearest to an equal
// share; HPOPTA, section 6.2 compares three such reference sizes. Exact where the speeds really are constant.
#pragma once

#include "policies/planners/continuous/continuous.hpp"

namespace apportion {

/// Real shares of `units` in proportion to `weights` (>= 0), none above its limit; what a limit cuts off goes to the
/// others in proportion. Sum = units unless the limits of the positive weights forbid it. O(p log p).
std::vector<double> proportional_shares(std::span<const double> weights, double units, std::span<const double> limits);

Plan plan_equal(const PlanProblem& problem);

/// Speeds as measured at the size nearest to `reference_units`, 0: nearest to n / p.
Plan plan_cpm_at(const PlanProblem& problem, double reference_units);
Plan plan_cpm(const PlanProblem& problem);

}  // namespace apportion
