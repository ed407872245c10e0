// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `fpm`: the geometrical algorithm of FuPerMod (section 4; Lastovetsky, Reddy 2007). In the plane of size and speed, a
// line through the origin of slope 1 / T meets each speed function at the share that takes T seconds. The slope is
// bisected until the shares of the steeper line (too few units) and of the flatter line (too many) differ by less than
// a unit in sum. Needs the shape restriction of PiecewiseLinear; balanced, hence optimal, where t(x) never falls.
//
// Beyond the paper: a share may have a limit, where its function ends.
#pragma once

#include "policies/planners/continuous/continuous.hpp"

namespace apportion {

struct GeometricPartition {
    std::vector<double> shares;  ///< sum = units, unless the limits forbid it
    double seconds = 0;          ///< T
    int lines = 0;               ///< lines drawn
};

/// `models` of restricted shape; null: nothing for this processor. O(p log m) for a line.
GeometricPartition geometric_partition(std::span<const std::optional<PiecewiseLinear>> models, double units,
                                       std::span<const double> limits);

Plan plan_fpm(const PlanProblem& problem);

}  // namespace apportion
