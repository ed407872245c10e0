// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/popta.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "policies/planners/hpopta/hpopta.hpp"

namespace apportion {

namespace {

/// Empty, or how a processor differs from the first one.
std::string why_not_identical(const PlanProblem& problem) {
    for (std::size_t i = 1; i < problem.processors.size(); ++i) {
        const DiscreteTimes &first = problem.processors[0], &other = problem.processors[i];
        const char* difference = nullptr;
        if (first.points != other.points)
            difference = "in their sizes";
        else if (first.seconds != other.seconds)
            difference = "in their times";
        else if (!problem.maximum_units.empty() && problem.maximum_units[i] != problem.maximum_units[0])
            difference = "in their maxima";
        if (difference)
            return fmt::format("popta plans identical processors, but '{}' and '{}' differ {}; use hpopta",
                               first.processor, other.processor, difference);
    }
    return {};
}

}  // namespace

Plan plan_popta(const PlanProblem& problem) {
    Plan plan;
    plan.failure = why_not_identical(problem);
    if (plan.failure.empty()) plan = plan_hpopta(problem);
    plan.algorithm = "popta";
    return plan;
}

}  // namespace apportion
