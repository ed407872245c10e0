// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta_merged.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace apportion {

MergedEnvelopes::MergedEnvelopes(std::span<const SizeTimes> processors) : steps_(processors.size()) {
    std::vector<std::pair<double, Units>> gains;  // from this time on so many units more
    for (std::size_t i = 0; i < processors.size(); ++i) {
        const SizeTimes& sizes = processors[i];
        std::vector<Step>& steps = steps_[i];
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t count = sizes.count(); count > 0; --count) {
            if (sizes.seconds(count - 1) >= least) continue;
            least = sizes.seconds(count - 1);
            steps.push_back({least, count});
        }
        std::reverse(steps.begin(), steps.end());
        Units previous = 0;
        for (const Step& step : steps) {
            const Units size = sizes.size(step.count - 1);
            gains.emplace_back(step.seconds, size - previous);
            previous = size;
        }
    }
    std::sort(gains.begin(), gains.end());
    seconds_.reserve(gains.size());
    sums_.reserve(gains.size());
    Units sum = 0;
    for (const auto& [seconds, units] : gains) {
        seconds_.push_back(seconds);
        sums_.push_back(sum += units);
    }
}

double MergedEnvelopes::bound(Units units) const {
    const auto found = std::lower_bound(sums_.begin(), sums_.end(), units);
    if (found == sums_.end()) return std::numeric_limits<double>::infinity();
    return seconds_[static_cast<std::size_t>(found - sums_.begin())];
}

std::size_t MergedEnvelopes::count_within(std::size_t processor, double tau) const {
    const std::vector<Step>& steps = steps_[processor];
    const auto later = std::upper_bound(steps.begin(), steps.end(), tau,
                                        [](double limit, const Step& step) { return limit < step.seconds; });
    return later == steps.begin() ? 0 : std::prev(later)->count;
}

}  // namespace apportion
