// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/processor_groups.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace apportion {

namespace {

/// Whether the cores' units differ by little in every report: what pictures need not tell apart.
bool are_alike(const std::vector<const RunReport*>& reports, const std::vector<std::size_t>& cores) {
    constexpr double kLittle = 0.1;        // of the mean
    constexpr double kRounding = 0.01;     // likewise, of what was planned alike
    constexpr std::size_t kReadable = 16;  // names
    if (cores.size() > kReadable) return true;
    for (const RunReport* report : reports) {
        const auto& processors = report->processors;
        std::vector<double> units;
        double mean = 0;
        for (const std::size_t p : cores)
            if (p < processors.size()) units.push_back(static_cast<double>(processors[p].units));
        if (units.empty()) continue;
        for (const double u : units) mean += u / static_cast<double>(units.size());
        const auto [least, most] = std::ranges::minmax(units);
        // A block more or less is no difference, but where a processor has one block its size is meant.
        const double blocks = std::max(static_cast<double>(report->blocks), 1.0);
        const double block = static_cast<double>(report->units) / blocks;
        const double rounding = std::max(kRounding * mean, static_cast<double>(report->granularity));
        const bool planned = blocks <= static_cast<double>(processors.size());
        if (most - least > (planned ? rounding : std::max(kLittle * mean, 1.01 * block))) return false;
    }
    return true;
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

std::vector<ProcessorGroup> processor_groups(const std::vector<const RunReport*>& reports) {
    std::vector<ProcessorGroup> groups;
    ProcessorGroup cores;
    const auto& processors = reports.front()->processors;
    for (std::size_t p = 0; p < processors.size(); ++p) {
        const std::string& name = processors[p].name;
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
    if (cores.processors.size() > 2 && are_alike(reports, cores.processors)) {
        cores.name = fmt::format("{} CPU cores", cores.processors.size());
        groups.insert(groups.begin(), cores);
    } else {
        for (std::size_t k = 0; k < cores.processors.size(); ++k)
            groups.insert(groups.begin() + static_cast<std::ptrdiff_t>(k),
                          {processors[cores.processors[k]].name, {cores.processors[k]}});
    }
    return groups;
}

double share_percent(const RunReport& report, const ProcessorGroup& group) {
    const auto& processors = report.processors;
    double units = 0;
    for (const std::size_t p : group.processors)
        if (p < processors.size()) units += static_cast<double>(processors[p].units);
    return 100 * units / std::max(static_cast<double>(report.units), 1.0);
}

}  // namespace apportion
