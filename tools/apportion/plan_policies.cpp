// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/plan_parts.hpp"
#include "tools/apportion/text_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "codelets/io/terminal.hpp"
#include "models/io/nearest_name.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "policies/shared/block_costs.hpp"
#include "policies/shared/virtual_run.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

/// Seconds by policies' names, of those that can run it with these recorded times.
std::map<std::string, double> policy_makespans(const LoadDescription& load) {
    std::map<std::string, double> makespans;
    const std::vector<PiecewiseLinear> functions = recorded_functions(load);
    if (functions.empty() || load.units == 0) return makespans;
    for (const PolicyEntry& entry : registered_policies()) {
        const double seconds = virtual_makespan(load, *entry.make(), functions);
        if (std::isfinite(seconds)) makespans[entry.name] = seconds;
    }
    return makespans;
}

std::vector<std::pair<double, std::string>> chosen(const LoadDescription& load, const std::vector<std::string>& names) {
    std::vector<std::string> known;
    for (const PolicyEntry& entry : registered_policies()) known.emplace_back(entry.name);
    const bool all = std::ranges::find(names, "all") != names.end();
    for (const std::string& name : names)
        if (name != "all" && !find_policy(name))
            throw UserError("--policies: there is no policy {}{}; choose from {}, or all", in_quotes(name),
                            did_you_mean(name, known), fmt::join(known, ", "));
    std::vector<std::pair<double, std::string>> sorted;
    for (const auto& [policy, seconds] : policy_makespans(load))
        if (all || std::ranges::find(names, policy) != names.end()) sorted.emplace_back(seconds, policy);
    if (sorted.empty()) throw UserError("--policies: {} cannot run this load with these times", fmt::join(names, ", "));
    std::ranges::sort(sorted);
    return sorted;
}

}  // namespace

LoadDescription load_of_profile(const Profile& profile, Units units, Units granularity) {
    LoadDescription load;
    load.units = units;
    load.granularity = granularity;
    load.recorded.processors = profile.processors;
    for (const ProcessorProfile& recorded : profile.processors) {
        const auto like = std::ranges::find(profile.processors, recorded.points, &ProcessorProfile::points);
        Processor& processor = load.processors.emplace_back();
        processor.name = recorded.name;
        processor.kind = static_cast<int>(like - profile.processors.begin());
        processor.own_memory = std::ranges::any_of(
            recorded.points, [](const ProfilePoint& point) { return point.in_s > 0 || point.out_s > 0; });
    }
    load.initial_block = default_initial_block(units, granularity, static_cast<int>(load.processors.size()));
    return load;
}

std::string policies_text(const LoadDescription& load, const std::vector<std::string>& names, Form form) {
    TextTable table({"policy", ">seconds", ">x best"});
    auto list = nlohmann::ordered_json::array();
    const auto sorted = chosen(load, names);
    for (const auto& [seconds, policy] : sorted) {
        table.add({policy, fmt::format("{:.6g}", seconds), fmt::format("{:.3f}", seconds / sorted.front().first)});
        list.push_back({{"policy", policy}, {"units", load.units}, {"makespan_seconds", seconds}});
    }
    if (form == Form::json) return json_text(list, 2);
    const bool travels = std::ranges::any_of(load.processors, &Processor::own_memory);
    return table.text() +
           output_line(fmt::format(
               "{}, in the blocks that the policies give, {}", counted(load.units, "unit"),
               travels ? "with the transfers of the profile" : "without transfers, of which the profile has none"));
}

}  // namespace apportion
