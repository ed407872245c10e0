// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/popta.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "policies/planners/discrete_problem.hpp"

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
            return fmt::format("popta-published plans identical processors, but '{}' and '{}' differ {}; use hpopta",
                               first.processor, other.processor, difference);
    }
    return {};
}

/// Fewest seconds in which the first `processors` compute so many granules, and what the last of them computes then.
struct Best {
    double seconds = std::numeric_limits<double>::infinity();
    Units granules = 0;
};

constexpr double kMostCells = 1 << 27;

/// Empty where the sizes do not add up.
std::vector<Units> smallest_makespan(const SizeTimes& sizes, std::size_t processors, Units granules,
                                     Units granularity) {
    std::vector<std::vector<Best>> best(processors + 1, std::vector<Best>(static_cast<std::size_t>(granules) + 1));
    best[0][0].seconds = 0;
    for (std::size_t p = 1; p <= processors; ++p)
        for (Units sum = 0; sum <= granules; ++sum) {
            Best& here = best[p][static_cast<std::size_t>(sum)];
            here = {best[p - 1][static_cast<std::size_t>(sum)].seconds, 0};
            for (std::size_t k = 0; k < sizes.count() && sizes.size(k) / granularity <= sum; ++k) {
                const Units own = sizes.size(k) / granularity;
                const double seconds =
                    std::max(sizes.seconds(k), best[p - 1][static_cast<std::size_t>(sum - own)].seconds);
                if (seconds < here.seconds) here = {seconds, own};
            }
        }
    if (best[processors][static_cast<std::size_t>(granules)].seconds == std::numeric_limits<double>::infinity())
        return {};
    std::vector<Units> shares(processors);
    for (std::size_t p = processors; p > 0; --p) {
        const Units own = best[p][static_cast<std::size_t>(granules)].granules;
        shares[p - 1] = own * granularity;
        granules -= own;
    }
    return shares;
}

}  // namespace

Plan plan_popta_published(const PlanProblem& problem) {
    Plan plan;
    plan.failure = why_not_identical(problem);
    if (!plan.failure.empty()) return plan;
    const DiscreteProblem discrete(problem, problem.units);
    plan.failure = discrete.why_impossible(problem.units);
    if (!plan.failure.empty()) return plan;
    const Units granules = problem.units / problem.granularity;
    const double cells = static_cast<double>(problem.processors.size() + 1) * (static_cast<double>(granules) + 1);
    plan.failure = why_too_large("popta-published", cells, kMostCells, problem.units);
    if (!plan.failure.empty()) return plan;
    plan.shares = smallest_makespan(discrete.processors()[0], problem.processors.size(), granules, problem.granularity);
    if (plan.shares.empty())
        plan.failure = discrete.why_unreachable(problem.units);
    else
        finish_optimal(plan, discrete);
    return plan;
}

}  // namespace apportion
