// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/plan_parts.hpp"
#include "tools/apportion/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/speed_trend.hpp"
#include "policies/planners/discrete_problem.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

using Json = nlohmann::ordered_json;

struct SpeedVariation {
    std::string processor;
    std::size_t pairs = 0;  ///< of neighbouring extrema
    double largest_pct = 0, mean_pct = 0;
    Units from = 0, to = 0;                                     ///< sizes of the pair with the largest variation
    std::optional<double> largest_band_pct{}, mean_band_pct{};  ///< nothing where the extrema are too few for a trend
};

struct Extremum {
    Units units;
    double speed;
    bool minimum;
};

/// The first and the last size are no extrema; of a plateau the first size is.
std::vector<Extremum> extrema(const DiscreteTimes& times, double work_power) {
    std::vector<Extremum> found;
    const auto speed = [&](std::size_t k) {
        return std::pow(static_cast<double>(times.points[k]), work_power) / times.seconds[k];
    };
    int direction = 0;
    for (std::size_t k = 1; k < times.points.size(); ++k) {
        const double before = speed(k - 1), here = speed(k);
        const int now = here > before ? 1 : here < before ? -1 : 0;
        if (now == 0) continue;
        if (direction != 0 && now != direction) found.push_back({times.points[k - 1], before, now > 0});
        direction = now;
    }
    return found;
}

std::optional<SpeedTrend> band(const std::vector<Extremum>& found, bool minimum) {
    std::vector<BlockTime> samples;
    for (const Extremum& extremum : found)
        if (extremum.minimum == minimum)
            samples.push_back(
                {static_cast<double>(extremum.units), static_cast<double>(extremum.units) / extremum.speed});
    return SpeedTrend::through(samples);
}

void add_bands(const std::vector<Extremum>& found, SpeedVariation& variation) {
    const std::optional<SpeedTrend> lower = band(found, true), upper = band(found, false);
    if (!lower || !upper) return;
    double largest = 0, sum = 0;
    std::size_t number = 0;
    for (const Extremum& extremum : found) {
        if (!extremum.minimum) continue;
        const double low = lower->speed(static_cast<double>(extremum.units));
        const double pct = 100 * (upper->speed(static_cast<double>(extremum.units)) / low - 1);
        largest = std::max(largest, pct);
        sum += pct;
        ++number;
    }
    variation.largest_band_pct = largest;
    variation.mean_band_pct = sum / static_cast<double>(number);
}

std::vector<SpeedVariation> speed_variations(const PlanProblem& problem) {
    if (std::string reason = why_invalid(problem); !reason.empty()) throw UserError(reason);
    std::vector<SpeedVariation> variations;
    for (const DiscreteTimes& times : problem.processors) {
        SpeedVariation& variation = variations.emplace_back();
        variation.processor = times.processor;
        const std::vector<Extremum> found = extrema(times, problem.work_power);
        for (std::size_t k = 1; k < found.size(); ++k) {
            const double a = found[k - 1].speed, b = found[k].speed;
            const double pct = 100 * std::abs(a - b) / std::min(a, b);
            variation.mean_pct += pct;
            ++variation.pairs;
            if (pct <= variation.largest_pct) continue;
            variation.largest_pct = pct;
            variation.from = found[k - 1].units;
            variation.to = found[k].units;
        }
        if (variation.pairs > 0) variation.mean_pct /= static_cast<double>(variation.pairs);
        add_bands(found, variation);
    }
    return variations;
}

std::string variation_table(const std::vector<SpeedVariation>& variations) {
    TextTable table({"processor", ">pairs", ">largest %", ">mean %", "between", ">largest band %", ">mean band %"});
    const auto band = [](const std::optional<double>& pct) { return pct ? fmt::format("{:.1f}", *pct) : "-"; };
    for (const SpeedVariation& v : variations)
        table.add({v.processor, fmt::to_string(v.pairs), fmt::format("{:.1f}", v.largest_pct),
                   fmt::format("{:.1f}", v.mean_pct), v.pairs > 0 ? fmt::format("{} and {}", v.from, v.to) : "-",
                   band(v.largest_band_pct), band(v.mean_band_pct)});
    return table.text();
}

}  // namespace

std::string variation_text(const PlanProblem& problem, Form form) {
    const std::vector<SpeedVariation> variations = speed_variations(problem);
    if (form == Form::table) return variation_table(variations);
    Json list = Json::array();
    const auto known = [](const auto& value) { return value ? Json(*value) : Json(); };
    for (const SpeedVariation& v : variations)
        list.push_back({{"processor", v.processor},
                        {"pairs", v.pairs},
                        {"largest_percent", v.largest_pct},
                        {"mean_percent", v.mean_pct},
                        {"from_units", v.pairs > 0 ? Json(v.from) : Json()},
                        {"to_units", v.pairs > 0 ? Json(v.to) : Json()},
                        {"largest_band_percent", known(v.largest_band_pct)},
                        {"mean_band_percent", known(v.mean_band_pct)}});
    return json_text(list, 2);
}

}  // namespace apportion
