// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codelets/io/terminal.hpp"
#include "codelets/simulated/platform.hpp"
#include "models/io/shown.hpp"
#include "tools/apportion/processor_groups.hpp"
#include "tools/apportion/text_table.hpp"

namespace apportion {

namespace {

/// Empty where it has not the confidence that the column promises, and where most runs never end.
std::string interval_text(const Configuration& c, double confidence) {
    if (c.runs.size() < 2 || !c.ends()) return "";
    const Interval interval = median_interval(c.seconds());
    if (interval.confidence < confidence) return "";
    return fmt::format("{:.4g} to {:.4g} s", interval.low, interval.high);
}

std::vector<std::string> row(const Comparison& comparison, const Configuration& c, const std::string& rank,
                             const char* choice, double confidence) {
    const double ratio = c.median_s() / comparison.lower_bound_s;
    return {rank,
            c.policy,
            choice,
            fmt::format("{}", c.blocks()),
            c.ends() ? fmt::format("{:.4g} s", c.median_s()) : "never",
            interval_text(c, confidence),
            fmt::format("{}", c.runs.size()),
            c.ends() && std::isfinite(ratio) ? fmt::format("{:.3f}", ratio) : "-",
            fmt::format("{:.1f} %", c.idle_percent())};
}

/// Whether all intervals have the confidence that is asked for.
bool enough_runs(const Comparison& comparison) {
    return std::ranges::all_of(comparison.configurations, [](const Configuration& c) {
        return c.dropped || median_interval(c.seconds()).confidence >= kConfidence;
    });
}

std::string makespans(const Comparison& comparison) {
    const bool repeated = comparison.rounds > 1;
    const double confidence = enough_runs(comparison) ? kConfidence : 0;
    const Order order = comparison.order();
    const auto policies = comparison.policies();
    TextTable table({">rank",
                     "policy",
                     {"", true, true},
                     ">blocks",
                     ">makespan",
                     {confidence > 0 ? ">95 % interval" : ">range", repeated},
                     {">runs", repeated},
                     {">/ bound", std::isfinite(comparison.lower_bound_s)},
                     ">idle"});
    for (const std::string& policy : ranked_policies(comparison, order)) {
        const auto index = static_cast<std::size_t>(std::ranges::find(policies, policy) - policies.begin());
        const Configuration& first = comparison.default_of(policy);
        const Configuration& best = comparison.best_of(policy);
        const std::string rank = std::to_string(order.rank(index));
        if (first.choice == Choice::only)
            table.add(row(comparison, first, rank, "", confidence));
        else if (&first == &best)
            table.add(row(comparison, first, rank, "default, best", confidence));
        else {
            table.add(row(comparison, best, rank, "best", confidence));
            table.add(row(comparison, first, "", "default", confidence));
        }
    }
    return table.text();
}

/// As the median of the makespans, so that all loads add up to it: of an even number of runs the mean of two.
std::string load_seconds(const Configuration& c, const std::string& name) {
    std::vector<double> seconds;
    for (const RunResult* run : c.middle_runs()) {
        const auto found = std::ranges::find(run->loads, name, &LoadTimes::name);
        if (found == run->loads.end()) return "-";
        seconds.push_back(found->seconds);
    }
    const double middle_s = median(std::move(seconds));
    return middle_s < simulated::kNever_s ? fmt::format("{:.4g}", middle_s) : "never";
}

/// Of the best configurations; empty where the program has one load that runs once.
std::string load_times(const Comparison& comparison) {
    const std::vector<LoadTimes>& loads = comparison.configurations.front().median_run().loads;
    if (loads.size() == 1 && loads.front().runs == 1) return "";
    std::vector<TextTable::Column> columns{"seconds of loads"};
    for (const LoadTimes& load : loads)
        columns.emplace_back(load.runs > 1 ? fmt::format(">{} x {}", load.runs, load.name) : ">" + load.name);
    TextTable table(columns);
    for (const std::string& policy : ranked_policies(comparison, comparison.order())) {
        std::vector<std::string> cells{policy};
        for (const LoadTimes& load : loads) cells.push_back(load_seconds(comparison.best_of(policy), load.name));
        table.add(cells);
    }
    return "\n" + table.text();
}

/// Policies in lines and processors in columns, or the other way round where that is narrower.
std::string shares_table(const Comparison& comparison) {
    const auto policies = ranked_policies(comparison, comparison.order());
    const auto groups = processor_groups(comparison.best_reports());
    const auto share = [&](const std::string& policy, const ProcessorGroup& group) {
        const auto percent = share_percent(comparison.best_of(policy).median_run().report, group);
        return percent ? fmt::format("{:.1f}", *percent) : "-";
    };
    std::vector<std::string> lines = policies, columns;
    for (const ProcessorGroup& group : groups) columns.push_back(group.name);
    const bool policies_in_lines = policies.size() > groups.size();
    if (!policies_in_lines) std::swap(lines, columns);
    std::vector<TextTable::Column> heads{has_several_loads(comparison) ? "share of work in %" : "share of units in %"};
    for (const std::string& column : columns) heads.emplace_back(">" + column);
    TextTable table(heads);
    for (std::size_t line = 0; line < lines.size(); ++line) {
        std::vector<std::string> cells{lines[line]};
        for (std::size_t column = 0; column < columns.size(); ++column)
            cells.push_back(policies_in_lines ? share(policies[line], groups[column])
                                              : share(policies[column], groups[line]));
        table.add(cells);
    }
    return "\n" + table.text();
}

/// Exact or measured, in words; empty where there is none.
std::string bound_text(const Comparison& comparison) {
    if (!std::isfinite(comparison.lower_bound_s)) return "";
    return fmt::format("{:.4g} s, {}", comparison.lower_bound_s,
                       comparison.bound_is_measured ? "measured: units / sum of the processors' best speeds"
                       : comparison.plan.exact      ? "exact: no schedule on this platform is faster"
                                               : "exact without the platform's noise, which may make blocks faster");
}

}  // namespace

std::string comparison_title(const Comparison& comparison) {
    std::string what = comparison.program;
    if (!comparison.size.empty()) what += ", " + fmt::format("{}", fmt::join(comparison.size, " x "));
    return fmt::format(
        "{}, on {}", what,
        comparison.platform.empty() ? "this machine" : fmt::format("simulated platform {}", comparison.platform));
}

bool has_several_loads(const Comparison& comparison) {
    return comparison.configurations.front().median_run().loads.size() > 1;
}

std::vector<std::string> ranked_policies(const Comparison& comparison, const Order& order) {
    const std::vector<std::string> policies = comparison.policies();
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < policies.size(); ++i) indices.push_back(i);
    std::ranges::stable_sort(indices, {}, [&](std::size_t i) {
        return std::pair(order.rank(i), comparison.best_of(policies[i]).median_s());
    });
    std::vector<std::string> ranked;
    for (const std::size_t i : indices) ranked.push_back(policies[i]);
    return ranked;
}

std::string comparison_table(const Comparison& comparison) {
    const auto line = [](const std::string& text) { return output_line(shown(text)); };
    std::string text = line(comparison_title(comparison));
    for (const std::string& event : comparison.platform_events) text += line(event);
    if (const std::string bound = bound_text(comparison); !bound.empty()) text += line("lower bound: " + bound);
    text += "\n" + makespans(comparison) + load_times(comparison) + shares_table(comparison) + "\n";
    for (const std::string& sentence : conclusions(comparison)) text += line(sentence);
    return text;
}

}  // namespace apportion
