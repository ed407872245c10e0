// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/plan_parts.hpp"
#include "tools/apportion/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "codelets/io/terminal.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "policies/planners/balance_condition.hpp"
#include "policies/planners/continuous/geometric.hpp"
#include "policies/planners/continuous/proportional.hpp"
#include "policies/planners/discrete_problem.hpp"
#include "policies/planners/hpopta/hpopta.hpp"
#include "policies/planners/smooth_fpm.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

using Json = nlohmann::ordered_json;

/// Over one other planner.
struct Gain {
    std::string over;
    std::optional<Units> reference_units;  ///< of `cpm`
    std::size_t numbers = 0;               ///< of units compared; others need sizes that were not measured
    double minimum_pct = 0, average_pct = 0, maximum_pct = 0;
    Units maximum_at = 0;  ///< number of units
};

struct ConditionReport {
    std::vector<BalanceCondition> conditions;  ///< of each processor, in order
    Units granularity = 1;                     ///< of the sizes: their greatest common divisor
    std::size_t numbers = 0;                   ///< of units that measured sizes add up to; from `first` to `last`
    Units first = 0, last = 0;
    std::vector<Gain> gains;
};

/// The sizes that granularity and maxima leave; what remains of both are the grid and the ends of these sizes.
PlanProblem allowed_sizes(const PlanProblem& problem) {
    PlanProblem allowed;
    allowed.work_power = problem.work_power;
    Units grid = 0;
    for (std::size_t i = 0; i < problem.processors.size(); ++i) {
        const DiscreteTimes& all = problem.processors[i];
        const Units most = problem.maximum_units.empty() ? kNoLimit : problem.maximum_units[i];
        DiscreteTimes& kept = allowed.processors.emplace_back();
        kept.processor = all.processor;
        for (std::size_t k = 0; k < all.points.size() && all.points[k] <= most; ++k) {
            if (all.points[k] % problem.granularity != 0) continue;
            kept.points.push_back(all.points[k]);
            kept.seconds.push_back(all.seconds[k]);
            grid = std::gcd(grid, all.points[k]);
        }
        allowed.maximum_units.push_back(kept.points.empty() ? 0 : kept.points.back());
    }
    if (grid == 0) throw UserError("--granularity and --max leave no measured size; lower the one or raise the other");
    allowed.granularity = grid;
    return allowed;
}

std::vector<Units> default_numbers(const PlanProblem& problem) {
    constexpr Units kAimedAt = 1000;
    const Units capacity =
        std::accumulate(problem.maximum_units.begin(), problem.maximum_units.end(), Units{0}) / problem.granularity;
    const Units first = std::max<Units>(capacity / 20, 1);
    // Odd, for times often depend on the remainder by a power of two, and all remainders should be there.
    const Units step = (capacity - first) / kAimedAt | 1;
    std::vector<Units> numbers;
    for (Units granules = first; granules <= capacity; granules += step)
        numbers.push_back(granules * problem.granularity);
    return numbers;
}

/// Nothing where a share is no measured size.
std::optional<double> measured_makespan(const PlanProblem& problem, std::span<const Units> shares) {
    if (shares.empty()) return {};
    double makespan_s = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        if (shares[i] == 0) continue;
        const DiscreteTimes& times = problem.processors[i];
        const auto found = std::ranges::lower_bound(times.points, shares[i]);
        if (found == times.points.end() || *found != shares[i]) return {};
        makespan_s = std::max(makespan_s, times.seconds[static_cast<std::size_t>(found - times.points.begin())]);
    }
    return makespan_s;
}

/// Small, middle and large: a tenth, a half and all of the sizes that every processor has (HPOPTA's lie near that).
std::vector<Units> reference_sizes(const PlanProblem& problem) {
    Units common = kNoLimit;
    for (const Units largest : problem.maximum_units)
        if (largest > 0) common = std::min(common, largest);
    std::vector<Units> sizes = {std::max<Units>(common / 10, 1), std::max<Units>(common / 2, 1), common};
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

Gain gain_over(PlanProblem problem, std::span<const Units> numbers, std::span<const double> optimum_s,
               const std::function<Plan(const PlanProblem&)>& other) {
    Gain gain;
    gain.minimum_pct = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        problem.units = numbers[k];
        const std::optional<double> other_s = measured_makespan(problem, other(problem).shares);
        if (!other_s) continue;
        const double pct = 100 * (*other_s - optimum_s[k]) / optimum_s[k];
        if (gain.numbers++ == 0 || pct > gain.maximum_pct) {
            gain.maximum_pct = pct;
            gain.maximum_at = numbers[k];
        }
        gain.minimum_pct = std::min(gain.minimum_pct, pct);
        gain.average_pct += pct;
    }
    gain.average_pct /= static_cast<double>(std::max<std::size_t>(gain.numbers, 1));
    return gain;
}

bool holds(const ConditionReport& report) {
    return std::ranges::all_of(report.conditions, [](const BalanceCondition& condition) { return condition.holds(); });
}

std::string name_of(const Gain& gain) {
    return gain.reference_units ? fmt::format("{} at {}", gain.over, *gain.reference_units) : gain.over;
}

ConditionReport check_condition(const PlanProblem& problem, const std::vector<Units>& numbers,
                                const std::vector<Units>& references) {
    if (std::string reason = why_invalid(problem); !reason.empty()) throw UserError(reason);
    const PlanProblem allowed = allowed_sizes(problem);
    ConditionReport report;
    for (const DiscreteTimes& times : allowed.processors) report.conditions.push_back(check_balance_condition(times));
    report.granularity = allowed.granularity;

    PreparedHpopta hpopta(allowed);
    std::vector<Units> distributed;
    std::vector<double> optimum_s;
    for (const Units units : numbers.empty() ? default_numbers(allowed) : numbers) {
        if (units % allowed.granularity != 0) continue;
        const double makespan_s = hpopta.makespan_s(units);
        if (makespan_s == std::numeric_limits<double>::infinity()) continue;
        distributed.push_back(units);
        optimum_s.push_back(makespan_s);
    }
    if (distributed.empty())
        throw UserError("--units: measured sizes add up to none of these numbers; take multiples of {}, up to {}",
                        allowed.granularity,
                        std::accumulate(allowed.maximum_units.begin(), allowed.maximum_units.end(), Units{0}));
    report.numbers = distributed.size();
    report.first = distributed.front();
    report.last = distributed.back();

    auto compare = [&](const char* name, const std::function<Plan(const PlanProblem&)>& other) -> Gain& {
        report.gains.push_back(gain_over(allowed, distributed, optimum_s, other));
        report.gains.back().over = name;
        return report.gains.back();
    };
    compare("equal", plan_equal);
    for (const Units reference : references.empty() ? reference_sizes(allowed) : references)
        compare("cpm", [reference](PlanProblem p) {
            p.maximum_units.clear();
            return plan_cpm_at(p, static_cast<double>(reference));
        }).reference_units = reference;
    compare("fpm", plan_fpm);
    const PlanProblem smooth = smoothed(allowed);
    PreparedHpopta smooth_hpopta(smooth);
    compare("smooth-fpm", [&](const PlanProblem& p) { return smooth_hpopta.plan(p.units); });
    return report;
}

std::string condition_table(const ConditionReport& report) {
    TextTable conditions({"processor", "condition", ">sizes", ">violations"});
    std::string worst;
    for (const BalanceCondition& c : report.conditions) {
        conditions.add(
            {c.processor, c.holds() ? "holds" : "violated", fmt::to_string(c.sizes), fmt::to_string(c.violated)});
        if (!c.holds())
            worst += output_line(fmt::format("{}: {} {} {:.6g} s, but {} take {:.6g} s", shown(c.processor),
                                             counted(c.smaller, "unit"), c.smaller == 1 ? "takes" : "take", c.smaller_s,
                                             c.larger, c.larger_s));
    }
    TextTable gains(
        {"gain of hpopta over", ">minimum %", ">average %", ">maximum %", ">at units", ">numbers", ">left out"});
    for (const Gain& gain : report.gains) {
        const auto known = [&](const std::string& text) { return gain.numbers == 0 ? "-" : text; };
        gains.add({name_of(gain), known(fmt::format("{:.2f}", gain.minimum_pct)),
                   known(fmt::format("{:.2f}", gain.average_pct)), known(fmt::format("{:.2f}", gain.maximum_pct)),
                   known(fmt::to_string(gain.maximum_at)), fmt::to_string(gain.numbers),
                   fmt::to_string(report.numbers - gain.numbers)});
    }
    return conditions.text() + worst +
           output_line(holds(report)
                           ? "No larger share takes less time: a balanced distribution is optimal."
                           : "Some larger shares take less time: a balanced distribution need not be optimal.") +
           "\n" + gains.text() +
           output_line(fmt::format("{} of units from {} to {}, shares in multiples of {}",
                                   counted(report.numbers, "number"), report.first, report.last, report.granularity)) +
           output_line("left out: numbers of which a planner's share is no measured size, or exceeds the largest");
}

}  // namespace

std::string condition_text(const PlanProblem& problem, const std::vector<Units>& numbers,
                           const std::vector<Units>& references, Form form) {
    const ConditionReport report = check_condition(problem, numbers, references);
    if (form == Form::table) return condition_table(report);
    Json json = {{"holds", holds(report)}, {"processors", Json::array()}};
    for (const BalanceCondition& c : report.conditions) {
        Json worst;
        if (!c.holds())
            worst = {{"smaller_units", c.smaller},
                     {"smaller_seconds", c.smaller_s},
                     {"larger_units", c.larger},
                     {"larger_seconds", c.larger_s}};
        json["processors"].push_back({{"processor", c.processor},
                                      {"sizes", c.sizes},
                                      {"holds", c.holds()},
                                      {"violations", c.violated},
                                      {"worst", worst}});
    }
    json["granularity"] = report.granularity;
    json["numbers"] = report.numbers;
    json["first_units"] = report.first;
    json["last_units"] = report.last;
    json["gains"] = Json::array();
    for (const Gain& gain : report.gains) {
        auto known = [&](auto value) { return gain.numbers > 0 ? Json(value) : nullptr; };
        json["gains"].push_back({{"over", gain.over},
                                 {"reference_units", gain.reference_units ? Json(*gain.reference_units) : nullptr},
                                 {"numbers", gain.numbers},
                                 {"left_out", report.numbers - gain.numbers},
                                 {"minimum_percent", known(gain.minimum_pct)},
                                 {"average_percent", known(gain.average_pct)},
                                 {"maximum_percent", known(gain.maximum_pct)},
                                 {"maximum_at_units", known(gain.maximum_at)}});
    }
    return json_text(json, 2);
}

}  // namespace apportion
