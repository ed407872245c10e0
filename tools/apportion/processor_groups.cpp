// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/processor_groups.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace apportion {

namespace {

/// Whether the cores' units differ by little in every report: what pictures need not tell apart.
bool are_alike(const std::vector<const RunReport*>& reports, const std::vector<std::size_t>& cores) {
    constexpr double kAlike = 0.1;         // of the mean
    constexpr double kRounding = 0.01;     // likewise, of what was planned alike
    constexpr std::size_t kReadable = 16;  // names
    if (cores.size() > kReadable) return true;
    for (const RunReport* report : reports) {
        const auto& processors = report->processors;
        std::vector<double> units;
        double mean = 0;
        for (const std::size_t p : cores) units.push_back(static_cast<double>(processors[p].units));
        for (const double u : units) mean += u / static_cast<double>(units.size());
        const auto [least, most] = std::ranges::minmax(units);
        // A block more or less is no difference, but where a processor has one block its size is meant.
        const double blocks = std::max(static_cast<double>(report->blocks), 1.0);
        const double block = static_cast<double>(report->units) / blocks;
        const double rounding = std::max(kRounding * mean, static_cast<double>(report->granularity));
        const bool planned = blocks <= static_cast<double>(processors.size());
        if (most - least > (planned ? rounding : std::max(kAlike * mean, 1.01 * block))) return false;
    }
    return true;
}

/// "CUDA 1.0 (GTX 680 1.9 GiB)" -> "GTX 680", "CPU 3" -> "CPU 3".
std::string short_processor_name(const std::string& name) {
    const std::size_t open = name.find('(');
    if (open == std::string::npos) return name;
    std::string model = name.substr(open + 1, name.find_last_of(')') - open - 1);
    // StarPU adds the memory and the bus address behind the model.
    const std::size_t gib = model.find(" GiB");
    if (gib != std::string::npos) model = model.substr(0, model.find_last_of(' ', gib - 1));
    return model;
}

/// Of reports that have the same processors.
std::vector<ProcessorGroup> groups_of_alike(const std::vector<const RunReport*>& reports) {
    std::vector<ProcessorGroup> groups;
    std::vector<std::size_t> cores;
    const auto& processors = reports.front()->processors;
    for (std::size_t p = 0; p < processors.size(); ++p) {
        const std::string& name = processors[p].name;
        if (name.starts_with("CPU "))
            cores.push_back(p);
        else
            groups.push_back({short_processor_name(name), {name}});
    }
    // Devices of one model are told apart by a number.
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const std::string name = groups[i].name;
        if (std::ranges::count(groups, name, &ProcessorGroup::name) < 2) continue;
        int number = 0;
        for (ProcessorGroup& group : groups)
            if (group.name == name) group.name = fmt::format("{} #{}", name, ++number);
    }
    std::vector<ProcessorGroup> of_cores;
    for (const std::size_t p : cores) of_cores.push_back({processors[p].name, {processors[p].name}});
    if (cores.size() > 2 && are_alike(reports, cores)) {
        ProcessorGroup all{fmt::format("{} CPU cores", cores.size()), {}};
        for (const ProcessorGroup& core : of_cores) all.processors.push_back(core.name);
        of_cores = {all};
    }
    groups.insert(groups.begin(), of_cores.begin(), of_cores.end());
    return groups;
}

}  // namespace

std::vector<std::string> processor_names(const RunReport& report) {
    std::vector<std::string> names;
    for (const ReportedProcessor& processor : report.processors) names.push_back(processor.name);
    return names;
}

std::vector<ProcessorGroup> processor_groups(const std::vector<const RunReport*>& reports) {
    std::vector<std::vector<const RunReport*>> alike;
    for (const RunReport* report : reports) {
        const auto same = std::ranges::find(alike, processor_names(*report),
                                            [](const auto& its) { return processor_names(*its.front()); });
        if (same == alike.end())
            alike.push_back({report});
        else
            same->push_back(report);
    }
    std::vector<ProcessorGroup> groups;
    for (const auto& its : alike)
        for (ProcessorGroup& group : groups_of_alike(its)) {
            group.beside = processor_names(*its.front());
            groups.push_back(std::move(group));
        }
    return groups;
}

std::optional<double> share_percent(const RunReport& report, const ProcessorGroup& group) {
    if (processor_names(report) != group.beside) return std::nullopt;
    double share = 0;
    for (const ReportedProcessor& processor : report.processors)
        if (std::ranges::find(group.processors, processor.name) != group.processors.end()) share += processor.share;
    return 100 * share;
}

}  // namespace apportion
