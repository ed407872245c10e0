// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/recovery.hpp"

#include <algorithm>
#include <limits>

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

Recovery::Recovery(double factor, std::span<const Processor> processors)
    : factor_(factor), kernel_(processors.size()), whole_(processors.size()) {
    for (const Processor& processor : processors) kinds_.push_back(processor.kind);
}

void Recovery::finished(int processor, Units units, double kernel_s, double total_s) {
    kernel_[static_cast<std::size_t>(processor)].add(units, kernel_s);
    whole_[static_cast<std::size_t>(processor)].add(units, total_s);
}

bool Recovery::known(int processor) const {
    for (std::size_t other = 0; other < kernel_.size(); ++other)
        if (kernel_[other].known() && kinds_[other] == kinds_[static_cast<std::size_t>(processor)]) return true;
    return false;
}

double Recovery::should_run_s(int processor, Units units) const {
    const auto p = static_cast<std::size_t>(processor);
    if (kernel_[p].known()) return kernel_[p].at_most_s(units);
    const bool of_kind = known(processor);
    double slowest_s = 0;
    for (std::size_t other = 0; other < kernel_.size(); ++other)
        if (kernel_[other].known() && (!of_kind || kinds_[other] == kinds_[p]))
            slowest_s = std::max(slowest_s, kernel_[other].at_most_s(units));
    return slowest_s > 0 ? slowest_s : std::numeric_limits<double>::infinity();
}

double Recovery::late_after_s(int processor, Units units) const {
    return known(processor) ? kLate * should_run_s(processor, units) : stalled_after_s(processor, units);
}

double Recovery::stalled_after_s(int processor, Units units) const {
    return factor_ * std::max(kShortestStall_s, should_run_s(processor, units));
}

}  // namespace apportion
