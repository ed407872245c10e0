// SPDX-License-Identifier: LGPL-2.1-or-later
#include <fmt/format.h>

#include <algorithm>

#include "tools/apportion/explanation.hpp"

namespace apportion {

namespace {

constexpr double kUnlike = 1.5;  ///< ratio of times that noise does not explain, as in learnt_times.cpp

/// Of what perfectly divided work would take at the mean speeds of the processors and at their best ones.
double mean_over_best(const RunReport& report) {
    double units_per_s = 0;
    for (const ReportedProcessor& processor : report.processors)
        if (processor.compute_s > 0) units_per_s += static_cast<double>(processor.units) / processor.compute_s;
    const double bound_s = report.lower_bound_s.value_or(0);
    return units_per_s > 0 && bound_s > 0 ? static_cast<double>(report.units) / units_per_s / bound_s : 1;
}

}  // namespace

std::string unlike_units(const RunReport& report) {
    const double ratio = mean_over_best(report);
    if (ratio <= kUnlike) return "";
    return fmt::format(
        "all blocks together took {:.3g} times as long for a unit as the processors' fastest ones: units are not "
        "alike, blocks were too small, or something else used the machine; so no bound is told",
        ratio);
}

std::string unlike_cores(const RunReport& report) {
    const auto seconds_per_unit = [](const ReportedProcessor* its) {
        return its->compute_s * static_cast<double>(its->workers) / static_cast<double>(its->units);
    };
    std::vector<const ReportedProcessor*> cores;
    for (const ReportedProcessor& its : report.processors)
        if (its.kind == kInMainMemory && its.units > 0 && its.compute_s > 0) cores.push_back(&its);
    if (cores.size() < 2) return "";
    const auto [fastest, slowest] = std::ranges::minmax(cores, {}, seconds_per_unit);
    const double ratio = seconds_per_unit(slowest) / seconds_per_unit(fastest);
    if (ratio < kUnlike * kUnlike) return "";
    return fmt::format(
        "under {} a unit took {} {:.3g} times as long as {}: units are not alike, or the cores are not, or something "
        "else used one; so no bound is told",
        report.policy, slowest->name, ratio, fastest->name);
}

bool has_bound(const RunReport& report) {
    return report.lower_bound_s.value_or(0) > 0 && unlike_cores(report).empty() && unlike_units(report).empty() &&
           std::ranges::all_of(report.processors, [](const ReportedProcessor& p) { return p.units > 0; });
}

}  // namespace apportion
