// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion plan --variation`: how far speed functions are from smooth, as HPOPTA's paper measures it. The variation
// is the difference of the speeds at two neighbouring local extrema in percent of the lower one (section 1, equation
// 1). The bands (section 6.2.3) enclose the speeds; the paper does not tell how they are drawn. Here they are the
// polynomial trends (models/speed_trend.hpp) through the local minima and through the local maxima, and their
// difference is taken at the local minima, in percent of the lower one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/planners/planner.hpp"

namespace apportion {

struct SpeedVariation {
    std::string processor;
    std::size_t pairs = 0;  ///< of neighbouring extrema
    double largest_pct = 0, mean_pct = 0;
    Units from = 0, to = 0;                                     ///< sizes of the pair with the largest variation
    std::optional<double> largest_band_pct{}, mean_band_pct{};  ///< nothing where the extrema are too few for a trend
};

/// Of each processor's speeds of the problem's work. `problem` must be valid. O(points).
std::vector<SpeedVariation> speed_variations(const PlanProblem& problem);

std::string variation_table(const std::vector<SpeedVariation>& variations);

/// A list of objects: processor, pairs, largest_percent, mean_percent, from_units, to_units, largest_band_percent,
/// mean_band_percent; null where there is nothing to tell.
std::string variation_json(const std::vector<SpeedVariation>& variations);

}  // namespace apportion
