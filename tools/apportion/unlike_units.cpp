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
    std::vector<bool> alike;  ///< by processors, whether one has blocks of both, which took about as long
};

/// Blocks of one processor in one half of the load, by their units.
class Half {
  public:
    void add(const ReportedBlock& block) { blocks_.push_back(&block); }
    void sort() {
        std::ranges::sort(blocks_, {}, &ReportedBlock::units);
        for (const ReportedBlock* block : blocks_) {
            units_before_.push_back(units_before_.back() + static_cast<double>(block->units));
            seconds_before_.push_back(seconds_before_.back() + block->compute_s());
        }
    }
    /// Of the blocks of about so many units; 0: there is none.
    double seconds_per_unit(double units) const {
        const auto at = [&](double size) {
            return std::ranges::upper_bound(
                       blocks_, size, {},
                       [](const ReportedBlock* block) { return static_cast<double>(block->units); }) -
                   blocks_.begin();
        };
        const auto first = static_cast<std::size_t>(at(units / kAlikeSizes));
        const auto last = static_cast<std::size_t>(at(units * kAlikeSizes));
        const double alike = units_before_[last] - units_before_[first];
        return alike > 0 ? (seconds_before_[last] - seconds_before_[first]) / alike : 0;
    }
    const std::vector<const ReportedBlock*>& blocks() const { return blocks_; }

  private:
    std::vector<const ReportedBlock*> blocks_;
    std::vector<double> units_before_{0}, seconds_before_{0};  ///< sums over the blocks before each, and over all
};

/// Blocks of unlike sizes do not compare: what is fixed makes the smaller ones longer for a unit.
HalfRatios upper_over_lower(const RunReport& report) {
    std::vector<std::array<Half, 2>> halves(report.processors.size());
    for (const ReportedBlock& block : report.trace)
        if (!block.given_back && block.units > 0 && block.compute_s() > 0)
            halves[block.processor][block.first < report.units / 2 ? 0 : 1].add(block);
    HalfRatios ratios{std::numeric_limits<double>::infinity(), 0, {}};
    for (auto& [low, high] : halves) {
        low.sort();
        double took_s = 0, as_below_s = 0;
        for (const ReportedBlock* block : high.blocks()) {
            const auto units = static_cast<double>(block->units);
            const double s = low.seconds_per_unit(units);
            if (s > 0) took_s += block->compute_s(), as_below_s += s * units;
        }
        const double ratio = as_below_s > 0 ? took_s / as_below_s : 0;
        ratios.alike.push_back(ratio < kUnlike && ratio > 1 / kUnlike);
        if (as_below_s <= 0) continue;
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

struct UnlikeCores {
    std::size_t slowest = 0, fastest = 0;
    double ratio = 0;  ///< of the seconds that a unit took; 0: noise of both explains it
};

UnlikeCores find_unlike_cores(const RunReport& report) {
    const auto seconds_per_unit = [&](std::size_t p) {
        const ReportedProcessor& its = report.processors[p];
        return its.compute_s * static_cast<double>(its.workers) / static_cast<double>(its.units);
    };
    std::vector<std::size_t> cores;
    for (std::size_t p = 0; p < report.processors.size(); ++p)
        if (const ReportedProcessor& its = report.processors[p];
            its.kind == kInMainMemory && its.units > 0 && its.compute_s > 0)
            cores.push_back(p);
    if (cores.size() < 2) return {};
    const auto [fastest, slowest] = std::ranges::minmax(cores, {}, seconds_per_unit);
    const double ratio = seconds_per_unit(slowest) / seconds_per_unit(fastest);
    return {slowest, fastest, ratio < kUnlike * kUnlike ? 0 : ratio};
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
    const UnlikeCores cores = find_unlike_cores(report);
    if (cores.ratio <= 0) return "";
    return fmt::format("under {} a unit took {} {:.3g} times as long as {}", report.policy,
                       report.processors[cores.slowest].name, cores.ratio, report.processors[cores.fastest].name);
}

bool units_seem_alike(const RunReport& report) {
    const HalfRatios ratios = upper_over_lower(report);
    if (!unlike_halves(ratios).empty()) return false;
    const UnlikeCores cores = find_unlike_cores(report);
    return cores.ratio <= 0 || (ratios.alike[cores.slowest] && ratios.alike[cores.fastest]);
}

bool has_bound(const RunReport& report) {
    return report.lower_bound_s.value_or(0) > 0 && units_seem_alike(report) && unlike_units(report).empty() &&
           std::ranges::all_of(report.processors, [](const ReportedProcessor& p) { return p.units > 0; });
}

}  // namespace apportion
