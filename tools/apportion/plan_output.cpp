// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/plan_parts.hpp"
#include "tools/apportion/text_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "codelets/io/terminal.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "policies/planners/matrix_shapes.hpp"

namespace apportion {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kInterpolated = "~ uses sizes between or beyond the measured ones: their times are interpolated";

/// Whether the plan's times are those of measured sizes; else some are interpolated or continued.
bool is_measured(const PlanSubject& subject, const Plan& plan) {
    if (subject.profile == nullptr) return true;
    for (std::size_t i = 0; i < plan.shares.size(); ++i) {
        const std::vector<Units>& sizes = subject.profile->processors[i].points;
        if (plan.shares[i] > 0 && !std::ranges::binary_search(sizes, plan.shares[i])) return false;
    }
    return true;
}

/// When each processor's share is done.
const std::vector<double>& ends_of(const Plan& plan) { return plan.ends_s.empty() ? plan.times_s : plan.ends_s; }

/// Index of the processor whose share takes longest; of several, the first.
std::size_t binding_processor(const Plan& plan) {
    const std::vector<double>& ends_s = ends_of(plan);
    return static_cast<std::size_t>(std::ranges::max_element(ends_s) - ends_s.begin());
}

/// A planner's proof is about measured times.
bool is_optimal(const PlanSubject& subject, const Plan& plan) { return plan.optimal && is_measured(subject, plan); }

std::string quality(const PlanSubject& subject, const Plan& plan) {
    if (is_optimal(subject, plan)) return "optimal";
    if (!is_measured(subject, plan)) return "";
    if (plan.lower_bound_s <= 0) return "";
    return fmt::format("at most {:.3g} % above the optimum", 100 * (plan.makespan_s / plan.lower_bound_s - 1));
}

Json as_json(const PlanSubject& subject, const Plan& plan) {
    Json json = {{"algorithm", plan.algorithm},
                 {"units", subject.units},
                 {"makespan_seconds", plan.makespan_s},
                 {"bound_by", subject.processors[binding_processor(plan)]}};
    json["solve_seconds"] = plan.solve_s;
    json["lower_bound_seconds"] = plan.lower_bound_s;
    json["optimal"] = is_optimal(subject, plan);
    json["interpolated"] = !is_measured(subject, plan);
    json["shares"] = Json::array();
    for (std::size_t i = 0; i < plan.shares.size(); ++i)
        json["shares"].push_back(
            {{"processor", subject.processors[i]}, {"units", plan.shares[i]}, {"seconds", plan.times_s[i]}});
    if (subject.matrix_side > 0) {
        const MatrixShape found = arrange_matrix(plan.shares, subject.matrix_side);
        json["shape"] = found.name;
        json["half_perimeters"] = found.half_perimeters;
        json["half_perimeters_of_columns"] = found.half_perimeters_of_columns;
        for (std::size_t i = 0; i < plan.shares.size(); ++i) {
            auto& rectangles = json["shares"][i]["rectangles"] = Json::array();
            for (const Rectangle& r : found.parts[i])
                rectangles.push_back({{"first_row", r.first_row},
                                      {"first_column", r.first_column},
                                      {"rows", r.rows},
                                      {"columns", r.columns}});
        }
    }
    return json;
}

/// The rectangles of a matrix, a line each; processors without a block have none.
std::string rectangle_table(const PlanSubject& subject, const Plan& plan) {
    const MatrixShape found = arrange_matrix(plan.shares, subject.matrix_side);
    TextTable table({"rectangle", ">first row", ">first column", ">rows", ">columns"});
    for (std::size_t i = 0; i < plan.shares.size(); ++i)
        for (const Rectangle& r : found.parts[i])
            table.add({subject.processors[i], fmt::to_string(r.first_row), fmt::to_string(r.first_column),
                       fmt::to_string(r.rows), fmt::to_string(r.columns)});
    return "\n" + table.text() +
           output_line(fmt::format("{}; half perimeters: {}; of columns: {}; of {} each as high as its "
                                   "share: {}",
                                   found.name, counted(found.half_perimeters, "block"),
                                   found.half_perimeters_of_columns, counted(plan.shares.size(), "row"),
                                   (std::ssize(plan.shares) + 1) * subject.matrix_side));
}

/// In percent. An interpolated time may be below the best that was measured: that says nothing.
std::string above_best(double makespan_s, double best_s) {
    if (makespan_s < best_s) return "-";
    return fmt::format("{:.2f}", best_s > 0 ? 100 * (makespan_s / best_s - 1) : 0.0);
}

/// Empty where no processor has work.
std::string binding_sentence(const PlanSubject& subject, const Plan& plan) {
    const std::size_t binding = binding_processor(plan);
    if (plan.shares[binding] == 0) return "";
    const std::vector<double>& ends_s = ends_of(plan);
    std::string text = fmt::format("{} binds: its share takes longest{}", shown(subject.processors[binding]),
                                   plan.ends_s.empty() ? "" : ", with transfers");
    std::size_t first = binding;
    for (std::size_t i = 0; i < plan.shares.size(); ++i)
        if (plan.shares[i] > 0 && ends_s[i] < ends_s[first]) first = i;
    if (first != binding)
        text += fmt::format("; {} is done first, {:.3g} % earlier", shown(subject.processors[first]),
                            100 * (1 - ends_s[first] / ends_s[binding]));
    return output_line(text);
}

std::string plan_table(const PlanSubject& subject, const Plan& plan) {
    TextTable table({"processor", ">units", ">% of n", ">seconds"});
    const double n = std::max(static_cast<double>(subject.units), 1.0);
    for (std::size_t i = 0; i < plan.shares.size(); ++i)
        table.add({subject.processors[i], fmt::to_string(plan.shares[i]),
                   fmt::format("{:.2f}", 100.0 * static_cast<double>(plan.shares[i]) / n),
                   fmt::format("{:.6g}", plan.times_s[i])});
    const std::string verdict = quality(subject, plan);
    std::string out = table.text();
    out +=
        output_line(fmt::format("{}: {} in {}{:.6g} s{}{} (lower bound {:.6g} s); solved in {}", plan.algorithm,
                                counted(subject.units, "unit"), is_measured(subject, plan) ? "" : "~", plan.makespan_s,
                                verdict.empty() ? "" : ", ", verdict, plan.lower_bound_s, seconds_text(plan.solve_s)));
    if (!is_measured(subject, plan)) out += output_line(kInterpolated);
    out += binding_sentence(subject, plan);
    return subject.matrix_side > 0 ? out + rectangle_table(subject, plan) : out;
}

std::string comparison_table(const PlanSubject& subject, std::span<const Plan> plans) {
    // Interpolated times are no match for measured ones: the best and the bound are those of measured sizes, if there
    // are.
    const bool some_measured = std::ranges::any_of(
        plans, [&](const Plan& plan) { return plan.failure.empty() && is_measured(subject, plan); });
    double best_s = std::numeric_limits<double>::infinity(), bound_s = 0;
    bool some_interpolated = false;
    for (const Plan& plan : plans) {
        if (!plan.failure.empty()) continue;
        const bool measured = is_measured(subject, plan);
        some_interpolated = some_interpolated || !measured;
        if (some_measured && !measured) continue;
        best_s = std::min(best_s, plan.makespan_s);
        bound_s = std::max(bound_s, plan.lower_bound_s);
    }
    constexpr std::size_t kMostShares = 12;  // that fit a line
    const bool with_shares = subject.processors.size() <= kMostShares;
    TextTable table({"algorithm", ">seconds", ">% above best", ">solved in", "optimal", {"shares", with_shares}});
    std::string failures;
    for (const Plan& plan : plans) {
        if (!plan.failure.empty()) {
            failures += output_line(fmt::format("{}: no solution: {}", plan.algorithm, shown(plan.failure)));
            continue;
        }
        table.add({plan.algorithm, fmt::format("{}{:.6g}", is_measured(subject, plan) ? "" : "~", plan.makespan_s),
                   above_best(plan.makespan_s, best_s), seconds_text(plan.solve_s),
                   is_optimal(subject, plan) ? "yes" : "", fmt::format("{}", fmt::join(plan.shares, " "))});
    }
    std::string out = table.text();
    std::vector<std::string> names;
    for (const std::string& name : subject.processors) names.push_back(shown(name));
    if (with_shares) out += output_line(fmt::format("shares in the order: {}", fmt::join(names, ", ")));
    if (some_interpolated) out += output_line(kInterpolated);
    return out +
           output_line(fmt::format("{}; lower bound{} {:.6g} s", counted(subject.units, "unit"),
                                   some_measured && some_interpolated ? " of measured sizes" : "", bound_s)) +
           failures;
}

}  // namespace

std::string plan_text(const PlanSubject& subject, const Plan& plan, Form form) {
    return form == Form::json ? json_text(as_json(subject, plan), 2) : plan_table(subject, plan);
}

std::string plans_text(const PlanSubject& subject, std::span<const Plan> plans, Form form) {
    if (form == Form::table) return comparison_table(subject, plans);
    Json list = Json::array();
    for (const Plan& plan : plans)
        if (plan.failure.empty()) list.push_back(as_json(subject, plan));
    return json_text(list, 2);
}

}  // namespace apportion
