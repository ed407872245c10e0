// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/comparison_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/io/shown.hpp"

namespace apportion {

namespace {

using Json = nlohmann::ordered_json;

std::string size_text(const nlohmann::json& size) {
    if (!size.is_array()) return size.dump();
    std::string text;
    for (const auto& n : size) text += (text.empty() ? "" : " x ") + n.dump();
    return text;
}

Json run_json(const Configuration& c, const char* choice) {
    Json units = Json::object();
    for (const auto& processor : c.median_run().report.at("processors"))
        units[processor.at("name").get<std::string>()] = processor.at("units");
    Json run{{"policy", c.policy},
             {"blocks", c.blocks()},
             {"makespan_seconds", {{"median", c.median_s()}, {"min", c.min_s()}, {"max", c.max_s()}}},
             {"idle_percent", c.idle_percent()},
             {"units_per_processor", units},
             {"choice", choice}};
    if (c.asked_blocks) run["asked_blocks"] = *c.asked_blocks;
    return run;
}

std::string row(const Comparison& comparison, const Configuration& c, const char* choice) {
    const double ratio = c.median_s() / comparison.lower_bound_s;
    return fmt::format("  {:<14} {:<8} {:>7} {:>12} {:>8} {:>7}{}\n", c.policy, choice, c.blocks(),
                       fmt::format("{:.4g} s", c.median_s()), std::isfinite(ratio) ? fmt::format("{:.3f}", ratio) : "-",
                       fmt::format("{:.1f} %", c.idle_percent()),
                       c.runs.size() > 1 ? fmt::format("   {:.4g} ... {:.4g} s", c.min_s(), c.max_s()) : "");
}

std::string shares_table(const Comparison& comparison) {
    const auto policies = comparison.policies();
    const auto groups = processor_groups(comparison.configurations.front().median_run().report);
    std::string text = fmt::format("\n  {:<22}", "share of units in %");
    for (const std::string& policy : policies) text += fmt::format(" {:>9}", policy);
    text += "\n";
    for (const ProcessorGroup& group : groups) {
        text += fmt::format("  {:<22}", shown(group.name));
        for (const std::string& policy : policies) {
            const auto& processors = comparison.best_of(policy).median_run().report.at("processors");
            double units = 0;
            for (const std::size_t p : group.processors)
                if (p < processors.size()) units += processors[p].at("units").get<double>();
            text += fmt::format(" {:>{}.1f}",
                                100 * units / static_cast<double>(std::max<std::int64_t>(comparison.units, 1)),
                                std::max<std::size_t>(policy.size(), 9));
        }
        text += "\n";
    }
    return text;
}

/// A line for every processor that a policy's (first) median run went on without.
std::string losses(const Comparison& comparison) {
    std::string text;
    for (const std::string& policy : comparison.policies()) {
        const Json report = comparison.default_of(policy).median_run().report;
        for (const auto& lost : report.value("lost_processors", Json::array()))
            text += fmt::format("\n  {} lost {} at {:.4g} s: {}; {} units given back\n", policy,
                                shown(lost.at("name").get<std::string>()), lost.at("at_seconds").get<double>(),
                                shown(lost.at("reason").get<std::string>()),
                                lost.at("units_given_back").get<std::int64_t>());
    }
    return text;
}

}  // namespace

std::string short_processor_name(const std::string& name) {
    const std::size_t open = name.find('(');
    if (open == std::string::npos) return name;
    std::string model = name.substr(open + 1, name.find_last_of(')') - open - 1);
    // StarPU adds the memory and the bus address behind the model.
    const std::size_t gib = model.find(" GiB");
    if (gib != std::string::npos) model = model.substr(0, model.find_last_of(' ', gib - 1));
    return model;
}

std::vector<ProcessorGroup> processor_groups(const nlohmann::json& report) {
    std::vector<ProcessorGroup> groups;
    ProcessorGroup cores;
    const auto& processors = report.at("processors");
    for (std::size_t p = 0; p < processors.size(); ++p) {
        const std::string name = processors[p].at("name");
        if (name.starts_with("CPU "))
            cores.processors.push_back(p);
        else
            groups.push_back({short_processor_name(name), {p}});
    }
    // Devices of one model are told apart by a number.
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const std::string name = groups[i].name;
        if (std::ranges::count(groups, name, &ProcessorGroup::name) < 2) continue;
        int number = 0;
        for (ProcessorGroup& group : groups)
            if (group.name == name) group.name = fmt::format("{} #{}", name, ++number);
    }
    if (cores.processors.size() > 2) {
        cores.name = fmt::format("{} CPU cores", cores.processors.size());
        groups.insert(groups.begin(), cores);
    } else {
        for (std::size_t k = 0; k < cores.processors.size(); ++k)
            groups.insert(groups.begin() + static_cast<std::ptrdiff_t>(k),
                          {processors[cores.processors[k]].at("name"), {cores.processors[k]}});
    }
    return groups;
}

std::string comparison_title(const Comparison& comparison) {
    return fmt::format(
        "{}, {}, on {}", comparison.app, size_text(comparison.size),
        comparison.platform.empty() ? "this machine" : fmt::format("simulated platform {}", comparison.platform));
}

std::string comparison_table(const Comparison& comparison) {
    const bool repeated = comparison.configurations.front().runs.size() > 1;
    std::string text = shown(comparison_title(comparison)) + "\n";
    for (const std::string& event : comparison.platform_events) text += shown(event) + "\n";
    if (std::isfinite(comparison.lower_bound_s))
        text += fmt::format("lower bound: {:.4g} s{}\n", comparison.lower_bound_s,
                            comparison.bound_is_estimated ? ", estimated from the best speeds that were measured" : "");
    text += fmt::format("\n  {:<14} {:<8} {:>7} {:>12} {:>8} {:>7}{}\n", "policy", "", "blocks", "makespan", "/ bound",
                        "idle", repeated ? "   fastest ... slowest" : "");
    for (const std::string& policy : comparison.policies()) {
        const Configuration& first = comparison.default_of(policy);
        if (first.choice == Choice::only) {
            text += row(comparison, first, "");
        } else {
            text += row(comparison, first, "default");
            text += row(comparison, comparison.best_of(policy), "best");
        }
    }
    return text + losses(comparison) + shares_table(comparison);
}

nlohmann::ordered_json comparison_json(const Comparison& comparison) {
    Json runs = Json::array();
    for (const std::string& policy : comparison.policies()) {
        const Configuration& first = comparison.default_of(policy);
        const Configuration& best = comparison.best_of(policy);
        runs.push_back(run_json(first, first.choice == Choice::only ? "only" : "default"));
        if (first.choice == Choice::only) continue;
        runs.push_back(run_json(best, "best"));
        for (const Configuration& c : comparison.configurations)
            if (c.policy == policy && c.choice == Choice::sweep && &c != &best) runs.push_back(run_json(c, "sweep"));
    }
    Json json{
        {"app", comparison.app}, {"size", comparison.asked_size}, {"platform", nullptr}, {"units", comparison.units}};
    if (!comparison.platform.empty()) json["platform"] = comparison.platform;
    json["platform_events"] = comparison.platform_events;
    json["lower_bound_seconds"] = nullptr;
    if (std::isfinite(comparison.lower_bound_s)) json["lower_bound_seconds"] = comparison.lower_bound_s;
    json["lower_bound_estimated"] = comparison.bound_is_estimated;
    json["runs"] = std::move(runs);
    return json;
}

}  // namespace apportion
