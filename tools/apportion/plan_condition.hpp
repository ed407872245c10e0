// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion plan --condition`: whether balancing is optimal on a profile (planners/balance_condition.hpp), and what
// `hpopta` gains there over the planners that balance, for many numbers of units, as HPOPTA (section 6.2) reports it:
// equal shares, constant speeds of a small, a middle and a large reference size, FuPerMod's functional models, and the
// paper's smoothed ones (planners/continuous/smooth_fpm.hpp).
//
// The gain is (t_other - t_hpopta) / t_hpopta. The paper prints the formula for FPM with t_other below, but its results
// above 100 % need t_hpopta there. Only distributions of measured sizes are compared, because interpolated times are
// no match for measured ones; so every planner keeps to the grid and to the ends of the measured sizes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/planners/balance_condition.hpp"

namespace apportion {

/// Over one other planner.
struct Gain {
    std::string over;
    std::optional<Units> reference_units;  ///< of `cpm`
    std::size_t numbers = 0;               ///< of units compared; others need sizes that were not measured
    double minimum_pct = 0, average_pct = 0, maximum_pct = 0;
    Units maximum_at = 0;  ///< number of units
};

struct ConditionReport {
    std::vector<BalanceCondition> conditions;  ///< of each processor, in order
    Units granularity = 1;                     ///< of the sizes: their greatest common divisor
    std::size_t numbers = 0;                   ///< of units that measured sizes add up to; from `first` to `last`
    Units first = 0, last = 0;
    std::vector<Gain> gains;
};

/// Of the sizes that the problem's granularity and maxima allow. `numbers` of units are > 0 and ascending; none: up to
/// 2000 between a twentieth and all of what the processors can take. `references`: sizes whose speed `cpm` knows; none:
/// a tenth, a half and all of those of everyone. Throws UserError when no number can be distributed.
/// O(points) for each number and planner, besides `hpopta`.
ConditionReport check_condition(const PlanProblem& problem, std::span<const Units> numbers,
                                std::span<const Units> references = {});

std::string condition_table(const ConditionReport& report);

/// An object: holds, processors: [{processor, sizes, holds, violations, worst}], granularity, numbers, first_units,
/// last_units, gains: [{over, reference_units, numbers, minimum_percent, average_percent, maximum_percent,
/// maximum_at_units}]; null where there is nothing to tell.
std::string condition_json(const ConditionReport& report);

}  // namespace apportion
