// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/balance_condition.hpp"

namespace apportion {

BalanceCondition check_balance_condition(const DiscreteTimes& times) {
    BalanceCondition result;
    result.processor = times.processor;
    result.sizes = times.points.size();
    std::size_t fastest = times.points.size();  // among the larger sizes
    for (std::size_t k = times.points.size(); k-- > 0;) {
        if (fastest == times.points.size() || times.seconds[k] <= times.seconds[fastest]) {
            fastest = k;
            continue;
        }
        ++result.violated;
        if (times.seconds[k] * result.larger_s > result.smaller_s * times.seconds[fastest] || result.violated == 1) {
            result.smaller = times.points[k];
            result.smaller_s = times.seconds[k];
            result.larger = times.points[fastest];
            result.larger_s = times.seconds[fastest];
        }
    }
    return result;
}

}  // namespace apportion
