// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/planner.hpp"

#include <fmt/format.h>

#include "models/io/text.hpp"

namespace apportion {

std::string why_not_whole(Units number, Units granularity, Units most, const PlannerWords& words) {
    const Units whole = number / granularity * granularity, below = number - whole;
    if (whole > most)
        return fmt::format("{} {} more than {} together; the nearest number that can be {} is {}",
                           counted(number, words.thing), is_or_are(number), words.limits, words.given, most);
    if (below == 0) return {};
    const bool above = most - whole >= granularity && granularity - below < below;
    return fmt::format("{} {} no multiple of the granularity {}; the nearest number that can be {} is {}",
                       counted(number, words.thing), is_or_are(number), granularity, words.given,
                       above ? whole + granularity : whole);
}

}  // namespace apportion
