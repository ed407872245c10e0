// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace apportion {

namespace {

/// Of the seconds that a unit took, upper over lower half of the load, the least and the most of all processors with
/// blocks of both: their speeds do not matter then. `most` 0: there is none.
struct HalfRatios {
    double least = 0, most = 0;
};

HalfRatios upper_over_lower(const RunReport& report) {
    struct Half {
        double units = 0, seconds = 0;
    };
    std::vector<std::array<Half, 2>> halves(report.processors.size());
    for (const ReportedBlock& block : report.trace) {
        if (block.given_back) continue;
        Half& half = halves[block.processor][block.first < report.units / 2 ? 0 : 1];
        half.units += static_cast<double>(block.units);
        half.seconds += block.compute_s();
    }
    HalfRatios ratios{std::numeric_limits<double>::infinity(), 0};
    for (const auto& [low, high] : halves) {
        if (std::min({low.seconds, high.seconds, low.units, high.units}) <= 0) continue;
        const double ratio = high.seconds / high.units / (low.seconds / low.units);
        ratios.least = std::min(ratios.least, ratio);
        ratios.most = std::max(ratios.most, ratio);
    }
    return ratios;
}

std::string unlike_halves(const HalfRatios& ratios) {
    const bool upper = ratios.least >= kUnlike;
    if (ratios.most <= 0 || (!upper && ratios.most > 1 / kUnlike)) return "";
    return fmt::format(
        "on every processor a unit of the {} half of the load took at least {:.2g} times as long as one "
        "of the {} half: units are not alike, or the whole machine became {}",
        upper ? "upper" : "lower", upper ? ratios.least : 1 / ratios.most, upper ? "lower" : "upper",
        upper ? "slower" : "faster");
}

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
    if (const std::string halves = unlike_halves(upper_over_lower(report)); !halves.empty()) return halves;
    const double ratio = mean_over_best(report);
    if (ratio <= kUnlike) return "";
    return fmt::format(
        "all blocks together took {:.3g} times as long for a unit as the processors' fastest ones: units are not "
        "alike, blocks were too small, or something else used the machine",
        ratio);
}

std::string unlike_cores(const RunReport& report) {
    struct Core {
        double seconds_per_unit = 0;
        std::string name;
    };
    std::vector<Core> cores;
    for (const ReportedProcessor& processor : report.processors)
        if (processor.kind == kInMainMemory && processor.units > 0 && processor.compute_s > 0)
            cores.push_back(
                {processor.compute_s * static_cast<double>(processor.workers) / static_cast<double>(processor.units),
                 processor.name});
    if (cores.size() < 2) return "";
    const auto [fastest, slowest] = std::ranges::minmax(cores, {}, &Core::seconds_per_unit);
    const double ratio = slowest.seconds_per_unit / fastest.seconds_per_unit;
    if (ratio < kUnlike * kUnlike) return "";
    return fmt::format("under {} a unit took {} {:.3g} times as long as {}", report.policy, slowest.name, ratio,
                       fastest.name);
}

bool units_seem_alike(const RunReport& report) {
    const HalfRatios ratios = upper_over_lower(report);
    return ratios.most > 0 ? unlike_halves(ratios).empty() : unlike_cores(report).empty();
}

bool has_bound(const RunReport& report) {
    return report.lower_bound_s.value_or(0) > 0 && units_seem_alike(report) && unlike_units(report).empty();
}

}  // namespace apportion
