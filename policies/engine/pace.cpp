// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/pace.hpp"

#include <algorithm>

namespace apportion {

void Pace::add(Units units, double seconds) {
    constexpr std::size_t kRemembered = 4;  // few, so that a processor that has changed is soon known by that
    samples_.push_back({static_cast<double>(units), std::max(0.0, seconds)});
    if (samples_.size() > kRemembered) samples_.pop_front();
}

double Pace::at_most_s(Units units) const {
    double least_s = std::numeric_limits<double>::infinity();
    for (const Sample& sample : samples_)
        least_s = std::min(least_s, sample.seconds * std::max(1.0, static_cast<double>(units) / sample.units));
    return least_s;
}

Units Pace::within(double seconds) const {
    constexpr double kMost = 4e18;  // below 2^63
    double most = 0;
    for (const Sample& sample : samples_)
        if (sample.seconds <= seconds)
            most = std::max(most, sample.seconds > 0 ? sample.units * (seconds / sample.seconds) : kMost);
    return static_cast<Units>(std::min(most, kMost));
}

}  // namespace apportion
