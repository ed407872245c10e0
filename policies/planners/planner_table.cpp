// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/planner_table.hpp"

#include <algorithm>
#include <chrono>

#include "policies/planners/continuous/geometric.hpp"
#include "policies/planners/continuous/numerical.hpp"
#include "policies/planners/continuous/plb_hec.hpp"
#include "policies/planners/continuous/proportional.hpp"
#include "policies/planners/discrete_problem.hpp"
#include "policies/planners/hpopta/hpopta.hpp"
#include "policies/planners/hpopta/hpopta_published.hpp"
#include "policies/planners/imbalance.hpp"
#include "policies/planners/smooth_fpm.hpp"

namespace apportion {

namespace {

constexpr PlannerEntry kPlanners[] = {
    {"equal", plan_equal},
    {"cpm", plan_cpm},
    {"fpm", plan_fpm},
    {"fpm-akima", plan_fpm_akima},
    {"plb-hec", plan_plb_hec},
    {"hpopta", plan_hpopta},
    {"hpopta-published", plan_hpopta_published},
    {"smooth-fpm", plan_smooth_fpm},
    {"imbalance", plan_imbalance},
};

constexpr AssignmentPlannerEntry kAssignmentPlanners[] = {
    {"ilp", [](const DataAssignment& problem, double) { return plan_ilp(problem); }},
    {"ilp-milp", [](const DataAssignment& problem, double limit_s) { return plan_ilp_milp(problem, {limit_s}); }},
    {"min-min-v1", [](const DataAssignment& problem, double) { return plan_min_min_v1(problem); }},
    {"min-min-v2", [](const DataAssignment& problem, double) { return plan_min_min_v2(problem); }},
    {"proportional", [](const DataAssignment& problem, double) { return plan_proportional(problem); }},
};

template <typename Entry>
const Entry* find(std::span<const Entry> entries, std::string_view name) {
    const auto found = std::ranges::find(entries, name, &Entry::name);
    return found == entries.end() ? nullptr : &*found;
}

template <typename Solve>
Plan timed(const char* name, Solve solve) {
    const auto begin = std::chrono::steady_clock::now();
    Plan plan = solve();
    plan.solve_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    plan.algorithm = name;
    return plan;
}

}  // namespace

std::span<const PlannerEntry> registered_planners() { return kPlanners; }
std::span<const AssignmentPlannerEntry> registered_assignment_planners() { return kAssignmentPlanners; }

const PlannerEntry* find_planner(std::string_view name) { return find(registered_planners(), name); }
const AssignmentPlannerEntry* find_assignment_planner(std::string_view name) {
    return find(registered_assignment_planners(), name);
}

Plan run_planner(const PlannerEntry& planner, const PlanProblem& problem) {
    return timed(planner.name, [&] {
        Plan plan;
        plan.failure = why_invalid(problem);
        return plan.failure.empty() ? planner.plan(problem) : plan;
    });
}

Plan run_planner(const AssignmentPlannerEntry& planner, const DataAssignment& problem, double time_limit_s) {
    return timed(planner.name, [&] { return planner.plan(problem, time_limit_s); });
}

}  // namespace apportion
