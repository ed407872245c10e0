// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/best_time_curve.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "policies/planners/hpopta/hpopta.hpp"

namespace apportion {

DiscreteTimes best_time_curve(std::span<const SizeTimes> processors, Units limit) {
    Units step = 0, capacity = 0;
    for (const SizeTimes& sizes : processors) {
        for (std::size_t k = 0; k < sizes.count() && step != 1; ++k) step = std::gcd(step, sizes.size(k));
        capacity = std::min(limit, capacity + sizes.largest());
    }
    DiscreteTimes curve;
    if (step == 0) return curve;
    constexpr Units kLongestCurve = Units{1} << 26;  // points, 1 GiB with what makes them
    if (capacity / step > kLongestCurve) throw std::length_error("too many points of a best-time curve");
    HpoptaSearch search(processors, true);
    for (Units units = step; units <= capacity; units += step) {
        const double seconds = search.makespan_s(units);
        if (!std::isfinite(seconds)) continue;
        curve.points.push_back(units);
        curve.seconds.push_back(seconds);
    }
    return curve;
}

}  // namespace apportion
