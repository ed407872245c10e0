// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/hpopta.hpp"

#include <stdexcept>

namespace apportion {

namespace {

Plan optimal_plan(const DiscreteProblem& problem, Units units, HpoptaSearch& search, std::span<const Units> previous) {
    Plan plan;
    plan.algorithm = "hpopta";
    plan.failure = problem.why_impossible(units);
    if (!plan.failure.empty()) return plan;
    try {
        plan.shares = search.distribute(units, previous);
    } catch (const std::length_error&) {
        plan.failure = kTooManySums;
        return plan;
    }
    if (plan.shares.empty()) {
        plan.failure = problem.why_unreachable(units);
        return plan;
    }
    finish_optimal(plan, problem);
    return plan;
}

}  // namespace

Plan plan_hpopta(const PlanProblem& problem) {
    const DiscreteProblem discrete(problem, problem.units);
    HpoptaSearch search(discrete.processors());
    return optimal_plan(discrete, problem.units, search, problem.previous);
}

Plan PreparedHpopta::plan(Units units, std::span<const Units> previous) {
    return optimal_plan(problem_, units, search_, previous);
}

}  // namespace apportion
