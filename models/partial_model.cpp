// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/partial_model.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace apportion {

namespace {

constexpr double kAlike = 1.05;         // sizes that make one point
constexpr std::size_t kAveraged = 8;    // latest samples of such a size
constexpr double kKnown = 1.25;         // the model is known that far beyond the measured sizes
constexpr double kContradiction = 1.5;  // ratio of times that noise does not explain

bool alike(double a, double b) { return std::max(a, b) <= kAlike * std::min(a, b); }

}  // namespace

bool PartialModel::contradicts(const BlockTime& sample) const {
    if (!function_) return false;
    const MeasuredRange range = function_->range();
    if (sample.units * kKnown < range.smallest || sample.units > kKnown * range.largest) return false;
    const double ratio = sample.seconds / function_->seconds(sample.units);
    return std::max(ratio, 1 / ratio) > kContradiction;
}

PartialModel::Verdict PartialModel::add(const BlockTime& sample) {
    if (!(sample.units > 0) || !(sample.seconds > 0) || !std::isfinite(sample.seconds)) return Verdict::spike;
    if (belief_ == Belief::as_printed) {
        samples_.insert(std::ranges::upper_bound(samples_, sample.units, {}, &BlockTime::units), sample);
        function_ = PiecewiseLinear::through(samples_, PiecewiseLinear::Shape::as_printed);
        return Verdict::used;
    }
    Verdict verdict = Verdict::used;
    if (contradicts(sample)) {
        const auto slower = [this](const BlockTime& s) { return s.seconds > function_->seconds(s.units); };
        if (!suspect_ || slower(*suspect_) != slower(sample)) {
            suspect_ = sample;
            return Verdict::spike;
        }
        samples_.assign(1, *suspect_);
        verdict = Verdict::changed;
    }
    suspect_.reset();
    samples_.push_back(sample);
    std::size_t like_it = 0;
    for (auto it = samples_.rbegin(); it != samples_.rend(); ++it)
        if (alike(it->units, sample.units) && ++like_it > kAveraged) {
            samples_.erase(std::next(it).base());
            break;
        }
    rebuild();
    return verdict;
}

void PartialModel::rebuild() {
    std::vector<BlockTime> sorted = samples_;
    std::ranges::sort(sorted, {}, &BlockTime::units);
    std::vector<BlockTime> points;
    for (std::size_t first = 0, end = 0; first < sorted.size(); first = end) {
        BlockTime sum;
        for (end = first; end < sorted.size() && alike(sorted[first].units, sorted[end].units); ++end) {
            sum.units += sorted[end].units;
            sum.seconds += sorted[end].seconds;
        }
        const auto count = static_cast<double>(end - first);
        points.push_back({sum.units / count, sum.seconds / count});
    }
    function_ = PiecewiseLinear::through(points, PiecewiseLinear::Shape::restricted);
}

}  // namespace apportion
