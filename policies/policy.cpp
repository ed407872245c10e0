// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/policy.hpp"

#include <algorithm>
#include <cmath>

namespace apportion {

Units round_to_granularity(double units, Units granularity) {
    if (!(units > 0)) return granularity;
    double granules = std::round(units / static_cast<double>(granularity));
    constexpr double kLargest = 9e18;  // below 2^63
    if (granules * static_cast<double>(granularity) > kLargest) return kNoLimit / granularity * granularity;
    return std::max<Units>(1, static_cast<Units>(granules)) * granularity;
}

Units default_initial_block(Units units, Units granularity, int processors) {
    constexpr double kFirstBlocksPerShare = 64;
    return round_to_granularity(static_cast<double>(units) / (kFirstBlocksPerShare * processors), granularity);
}

}  // namespace apportion
