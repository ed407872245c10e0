// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta_merged.hpp"

#include <algorithm>
#include <limits>

namespace apportion {

namespace {

constexpr std::size_t kShortestStride = 32;

}  // namespace

// A row has no more numbers than there are steps to the next.
MergedEnvelopes::MergedEnvelopes(std::span<const SizeTimes> processors)
    : stride_(std::max(kShortestStride, processors.size())), counts_(processors.size(), 0) {
    for (std::size_t i = 0; i < processors.size(); ++i) {
        const SizeTimes& sizes = processors[i];
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t count = sizes.count(); count > 0; --count) {
            if (sizes.seconds(count - 1) >= least) continue;
            least = sizes.seconds(count - 1);
            steps_.push_back({least, 0, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(count)});
        }
    }
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.seconds < b.seconds; });
    Units sum = 0;
    for (std::size_t k = 0; k < steps_.size(); ++k) {
        if (k % stride_ == 0) rows_.insert(rows_.end(), counts_.begin(), counts_.end());
        Step& step = steps_[k];
        const SizeTimes& sizes = processors[step.processor];
        std::uint32_t& count = counts_[step.processor];
        sum += sizes.size(step.count - 1) - (count == 0 ? 0 : sizes.size(count - 1));
        count = step.count;
        step.sum = sum;
        if ((k + 1) % stride_ == 0 || k + 1 == steps_.size()) sums_.push_back(sum);
    }
}

double MergedEnvelopes::bound(Units units) {
    const std::size_t row = count_up_to(std::span<const Units>(sums_), units - 1);
    if (row == sums_.size()) return std::numeric_limits<double>::infinity();
    const auto counts = rows_.begin() + static_cast<std::ptrdiff_t>(row * counts_.size());
    std::copy(counts, counts + static_cast<std::ptrdiff_t>(counts_.size()), counts_.begin());
    auto step = steps_.begin() + static_cast<std::ptrdiff_t>(row * stride_);
    for (; step->sum < units; ++step) counts_[step->processor] = step->count;
    const double bound = step->seconds;
    for (; step != steps_.end() && step->seconds == bound; ++step) counts_[step->processor] = step->count;
    return bound;
}

}  // namespace apportion
