// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "codelets/simulated/lower_bound.hpp"
#include "models/io/nearest_name.hpp"
#include "models/io/text.hpp"
#include "policies/policy.hpp"
#include "policies/starpu/own_schedulers.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/explanation.hpp"
#include "tools/apportion/machine_load.hpp"
#include "tools/apportion/processor_groups.hpp"

namespace apportion {

namespace {

/// n / sum of the speeds: of each processor the best that it had in the median run of any configuration. Where policies
/// see groups of cores and StarPU's schedulers the cores, the larger of both sums. NaN: some computed nothing, so that
/// nobody knows what they would add.
double measured_bound_s(const Comparison& comparison) {
    double seconds = 0;
    for (const LoadTimes& load : comparison.configurations.front().median_run().loads) {
        std::map<std::vector<std::string>, std::map<std::string, double>> best;
        for (const Configuration& c : comparison.configurations)
            for (const LoadTimes& other : c.median_run().loads)
                if (other.name == load.name)
                    for (const auto& [name, units_per_s] : other.units_per_s) {
                        double& its = best[processor_names(c.median_run().report)][name];
                        its = std::max(its, units_per_s);
                    }
        double most = 0;
        for (const auto& [names, speeds] : best) {
            double sum = 0;
            bool known = true;
            for (const auto& [name, units_per_s] : speeds) {
                sum += units_per_s;
                known = known && units_per_s > 0;
            }
            if (known) most = std::max(most, sum);
        }
        if (most <= 0) return std::nan("");
        seconds += static_cast<double>(load.units) / most;
    }
    return seconds;
}

/// Which cores took unlike times for a unit in the median run of some configuration; empty: none did.
std::string find_unlike(const Comparison& comparison) {
    for (const Configuration& c : comparison.configurations) {
        const std::vector<RunReport>& reports = c.median_run().largest_reports;
        for (const RunReport& report : reports)
            if (const std::string cores = unlike_cores(report); !cores.empty())
                return (reports.size() == 1 ? "" : report.load + ": ") + cores;
    }
    return "";
}

void find_bound(Comparison& comparison, const ProgramRunner& runner) {
    const auto& platform = runner.platform();
    if (platform && platform->kernels.contains(comparison.program) && !comparison.size.empty()) {
        comparison.lower_bound_s = 0;
        for (const LoadTimes& load : comparison.configurations.front().median_run().loads)
            comparison.lower_bound_s +=
                load.runs * simulated::lower_bound_seconds(*platform, comparison.program,
                                                           simulated_size(comparison.size), load.units / load.runs);
    } else {
        comparison.bound_is_measured = true;
        comparison.unlike = find_unlike(comparison);
        if (!comparison.unlike.empty()) return;
        comparison.lower_bound_s = measured_bound_s(comparison);
        if (std::isnan(comparison.lower_bound_s))
            comparison.notes.emplace_back(
                "some processors computed nothing in all runs of a load, so no lower bound is told");
    }
}

/// What happens to devices is in the simulated codelets of bundled applications. Other programs' have a performance
/// model, to which it does not happen.
void tell_platform_events(Comparison& comparison, const ProgramRunner& runner) {
    const simulated::Platform& platform = *runner.platform();
    std::vector<std::string> events;
    for (const simulated::Device& device : platform.devices)
        if (const std::string text = describe_behaviour(device); !text.empty())
            events.push_back(fmt::format("{}: {}", device.name, text));
    if (runner.command().bundled)
        comparison.platform_events = std::move(events);
    else if (!events.empty() || platform.noise > 0)
        comparison.notes.push_back(
            fmt::format("{} runs without the platform's noise and events, which only bundled applications have",
                        comparison.program));
}

/// Loads with the units and the number of their runs, for notes; in the same order whichever ended first.
std::string describe(std::vector<LoadTimes> loads) {
    std::ranges::sort(loads, {}, [](const LoadTimes& load) { return std::tie(load.name, load.units, load.runs); });
    std::string text;
    for (const LoadTimes& load : loads)
        text += fmt::format("{}{} of {} in {}", text.empty() ? "" : "; ", load.name, counted(load.units, "unit"),
                            counted(load.runs, "run"));
    return text;
}

void compare_loads(Comparison& comparison) {
    const Configuration& first = comparison.configurations.front();
    const std::string expected = describe(first.median_run().loads);
    for (const std::string& policy : comparison.policies()) {
        const std::string found = describe(comparison.default_of(policy).median_run().loads);
        if (found != expected)
            comparison.notes.push_back(
                fmt::format("{} is timed on other work than {}: the program ran the loads {}, and there {}", policy,
                            first.policy, found, expected));
    }
}

}  // namespace

simulated::KernelSize simulated_size(const std::vector<std::int64_t>& size) {
    const auto at = [&](std::size_t k) { return static_cast<double>(size.at(std::min(k, size.size() - 1))); };
    return {at(0), at(1), at(2)};
}

std::vector<double> Configuration::seconds() const {
    std::vector<double> seconds;
    for (const RunResult& run : runs) seconds.push_back(run.makespan_s);
    return seconds;
}
SecondsByRound Configuration::by_pass() const {
    SecondsByRound seconds;
    for (const RunResult& run : runs) seconds[run.pass] = run.makespan_s;
    return seconds;
}
double Configuration::min_s() const { return std::ranges::min(seconds()); }
double Configuration::max_s() const { return std::ranges::max(seconds()); }
std::vector<const RunResult*> Configuration::middle_runs() const {
    std::vector<const RunResult*> sorted;
    for (const RunResult& run : runs) sorted.push_back(&run);
    std::ranges::stable_sort(sorted, {}, [](const RunResult* run) { return run->makespan_s; });
    const auto lower = static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
    const auto upper = static_cast<std::ptrdiff_t>(sorted.size() / 2);
    return {sorted.begin() + lower, sorted.begin() + upper + 1};
}

const Configuration& Comparison::default_of(const std::string& policy) const {
    return *std::ranges::find(configurations, policy, &Configuration::policy);
}

const Configuration& Comparison::best_of(const std::string& policy) const {
    const Configuration* best = &default_of(policy);
    for (const Configuration& c : configurations)
        if (c.policy == policy && !c.dropped && (best->dropped || c.median_s() < best->median_s())) best = &c;
    return *best;
}

std::vector<std::string> Comparison::policies() const {
    std::vector<std::string> names;
    for (const Configuration& c : configurations)
        if (std::ranges::find(names, c.policy) == names.end()) names.push_back(c.policy);
    return names;
}

std::vector<const RunReport*> Comparison::best_reports() const {
    std::vector<const RunReport*> reports;
    for (const std::string& policy : policies()) reports.push_back(&best_of(policy).median_run().report);
    return reports;
}

Order Comparison::order() const {
    std::vector<SecondsByRound> candidates;
    for (const std::string& policy : policies()) candidates.push_back(best_of(policy).by_pass());
    // Which configuration is the best of its policy is seen from the same times: all pairs of them count.
    const std::size_t all = configurations.size();
    return {std::move(candidates), all * (all - 1) / 2, plan.exact};
}

void check_policy(const std::string& policy) {
    if (find_policy(policy)) return;
    std::vector<std::string> names;
    for (const PolicyEntry& entry : registered_policies()) names.emplace_back(entry.name);
    for (const starpu_sched_policy* scheduler : starpu_schedulers()) names.emplace_back(scheduler->policy_name);
    if (std::ranges::find(names, policy) != names.end()) return;
    std::string shown;
    for (const std::string& name : names)
        if (!name.starts_with("modular-")) shown += name + ", ";
    throw UserError("--policies: there is no policy {}{}; choose from {}modular-...", policy,
                    did_you_mean(policy, names), shown);
}

std::vector<std::string> default_policies() {
    std::vector<std::string> names;
    for (const PolicyEntry& entry : registered_policies())
        if (!entry.identical_processors) names.emplace_back(entry.name);
    for (const char* scheduler : compared_schedulers())
        if (find_starpu_scheduler(scheduler)) names.emplace_back(scheduler);
    return names;
}

Comparison compare(const ProgramRunner& runner, const ComparisonPlan& plan) {
    Comparison comparison;
    comparison.plan = plan;
    comparison.program = runner.name();
    comparison.command = runner.command().words;
    comparison.asked_size = runner.command().size;
    if (const auto& platform = runner.platform()) {
        comparison.platform = platform->name;
        tell_platform_events(comparison, runner);
    }
    const MachineLoad load;
    run_rounds(runner, comparison);
    comparison.cpus_of_others = load.cpus_of_others();
    const RunResult& first = comparison.configurations.front().median_run();
    comparison.size = first.size;
    comparison.units = first.report.units;
    find_bound(comparison, runner);
    compare_loads(comparison);
    return comparison;
}

}  // namespace apportion
