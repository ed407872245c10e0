// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When balancing is optimal: Theorem 1 of Lastovetsky, Szustak, Wyrzykowski (EULAG, section 2). If s_i(x) / x never
// rises with x, that is if no larger share takes less time, no distribution is faster than one where all processors
// finish together. Where a profile violates that, a processor can take more units and still finish earlier.
#pragma once

#include <string>

#include "policies/planners/planner.hpp"

namespace apportion {

struct BalanceCondition {
    std::string processor;
    std::size_t sizes = 0;     ///< measured
    std::size_t violated = 0;  ///< of these, how many take longer than some larger size
    /// The pair of sizes with the largest ratio of times, when `violated` > 0.
    Units smaller = 0, larger = 0;
    double smaller_s = 0, larger_s = 0;  ///< smaller_s > larger_s

    bool holds() const { return violated == 0; }
};

/// O(points).
BalanceCondition check_balance_condition(const DiscreteTimes& times);

}  // namespace apportion
