// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/recovery.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace apportion {

void Pace::add(Units units, double seconds) {
    constexpr std::size_t kRemembered = 4;  // few, so that a processor that has changed is soon known by that
    const BlockTime added{static_cast<double>(units), std::max(0.0, seconds)};
    if (of_each_size_)
        std::erase_if(samples_, [&](const BlockTime& s) { return std::ilogb(s.units) == std::ilogb(added.units); });
    else if (samples_.size() == kRemembered)
        samples_.pop_front();
    samples_.push_back(added);
}

Units Pace::within(double seconds) const {
    constexpr double kMost = 4e18;  // below 2^63
    double most = 0;
    for (const BlockTime& sample : samples_)
        if (sample.seconds <= seconds)
            most = std::max(most, sample.seconds > 0 ? sample.units * (seconds / sample.seconds) : kMost);
    return static_cast<Units>(std::min(most, kMost));
}

void Recovery::recorded(const std::vector<ProcessorProfile>& profiles) {
    for (std::size_t p = 0; p < std::min(profiles.size(), processors_.size()); ++p) {
        if (processors_[p].measured) continue;
        processors_[p] = {};
        for (const ProfilePoint& point : profiles[p].points) {
            processors_[p].kernel.add(point.units, point.seconds);
            processors_[p].whole.add(point.units, point.seconds + point.in_s + point.out_s);
        }
    }
}

void Recovery::begin_run() {
    for (Known& its : processors_) its.latest = Pace();
}

void Recovery::finished(int processor, Units units, double kernel_s, double total_s) {
    if (kernel_s <= 0) return;  // it had no work: others may have
    Known& its = processors_[static_cast<std::size_t>(processor)];
    if (!its.measured) its.kernel = Pace(true);
    if (its.measured) longest_ = std::max(longest_, kernel_s / kernel(processor).at_most_s(units));
    its.measured = true;
    its.latest.add(units, kernel_s);
    its.kernel.add(units, kernel_s);
    its.whole.add(units, total_s);
}

double Recovery::stalled_after_s(int processor, Units units) const {
    double seconds = should_run_s(processor, units);
    if (!measured(processor)) {
        seconds = std::numeric_limits<double>::infinity();
        for (const Known& other : processors_)
            if (other.measured) seconds = std::min(seconds, other.whole.at_most_s(units));
    }
    return factor_ * std::max(kShortestStall_s, longest_ * seconds);
}

}  // namespace apportion
