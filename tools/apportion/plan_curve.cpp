// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/plan_parts.hpp"
#include "tools/apportion/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/io/shown.hpp"

namespace apportion {

namespace {

/// Seconds for each unit more than in the last plan before that has a solution.
std::vector<std::optional<double>> costs_of_units(std::span<const Units> numbers, std::span<const Plan> plans) {
    std::vector<std::optional<double>> costs(plans.size());
    std::optional<std::size_t> before;
    for (std::size_t k = 0; k < plans.size(); ++k) {
        if (!plans[k].failure.empty()) continue;
        if (before)
            costs[k] =
                (plans[k].makespan_s - plans[*before].makespan_s) / static_cast<double>(numbers[k] - numbers[*before]);
        before = k;
    }
    return costs;
}

}  // namespace

std::vector<Plan> best_times(const PlannerEntry& planner, PlanProblem problem, std::span<const Units> numbers) {
    std::vector<Plan> plans;
    for (const Units units : numbers) {
        problem.units = units;
        plans.push_back(run_planner(planner, problem));
    }
    return plans;
}

std::string curve_table(const PlanProblem& problem, std::span<const Units> numbers, std::span<const Plan> plans) {
    TextTable table({{"units", true}, {"seconds", true}, {"a unit more", true}, {"binds", false}});
    const std::vector<std::optional<double>> costs = costs_of_units(numbers, plans);
    for (std::size_t k = 0; k < plans.size(); ++k) {
        const bool solved = plans[k].failure.empty();
        table.add({std::to_string(numbers[k]), solved ? fmt::format("{:.6g}", plans[k].makespan_s) : "-",
                   costs[k] ? fmt::format("{:.4g}", *costs[k]) : "-",
                   solved ? shown(problem.processors[binding_processor(plans[k])].processor) : "no solution"});
    }
    return table.text();
}

std::string curve_json(const PlanProblem& problem, std::span<const Units> numbers, std::span<const Plan> plans) {
    using Json = nlohmann::ordered_json;
    Json list = Json::array();
    const std::vector<std::optional<double>> costs = costs_of_units(numbers, plans);
    for (std::size_t k = 0; k < plans.size(); ++k) {
        Json entry{
            {"units", numbers[k]}, {"seconds", nullptr}, {"seconds_per_further_unit", nullptr}, {"bound_by", nullptr}};
        if (plans[k].failure.empty()) {
            entry["seconds"] = plans[k].makespan_s;
            entry["bound_by"] = problem.processors[binding_processor(plans[k])].processor;
        }
        if (costs[k]) entry["seconds_per_further_unit"] = *costs[k];
        list.push_back(std::move(entry));
    }
    return json_text(list, 2);
}

}  // namespace apportion
