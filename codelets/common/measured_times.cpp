// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/measured_times.hpp"

#include <algorithm>
#include <limits>

namespace apportion {

void MeasuredTimes::add(double work, double seconds) {
    // Noise can make a larger block seem faster; times stay monotone, so that a scheduler never prefers more work.
    if (!points_.empty()) seconds = std::max(seconds, points_.back().seconds);
    points_.push_back({work, seconds});
}

double MeasuredTimes::seconds(double work) const {
    if (points_.empty()) return std::numeric_limits<double>::quiet_NaN();
    if (points_.size() == 1 || work <= points_.front().work)
        return points_.front().seconds / points_.front().work * work;
    auto right = std::find_if(points_.begin() + 1, points_.end(), [work](const Point& p) { return work <= p.work; });
    if (right == points_.end()) --right;
    const auto left = right - 1;
    const double slope = (right->seconds - left->seconds) / (right->work - left->work);
    return left->seconds + slope * (work - left->work);
}

}  // namespace apportion
