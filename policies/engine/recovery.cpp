// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/recovery.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace apportion {

void Pace::add(Units units, double seconds) {
    constexpr std::size_t kRemembered = 4;  // few, so that a processor that has changed is soon known by that
    samples_.push_back({static_cast<double>(units), std::max(0.0, seconds)});
    if (!of_each_size_) {
        if (samples_.size() > kRemembered) samples_.pop_front();
        return;
    }
    const int its_class = std::ilogb(samples_.back().units);
    const auto older = std::find_if(samples_.begin(), samples_.end() - 1,
                                    [&](const Sample& sample) { return std::ilogb(sample.units) == its_class; });
    if (older != samples_.end() - 1) samples_.erase(older);
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

Recovery::Recovery(double factor, std::size_t processors)
    : factor_(factor), kernel_(processors), whole_(processors, Pace(true)), measured_(processors) {}

void Recovery::recorded(const std::vector<ProcessorProfile>& profiles) {
    for (std::size_t p = 0; p < std::min(profiles.size(), kernel_.size()); ++p) {
        if (measured_[p]) continue;
        kernel_[p] = whole_[p] = Pace(true);
        for (const ProfilePoint& point : profiles[p].points) {
            kernel_[p].add(point.units, point.seconds);
            whole_[p].add(point.units, point.seconds + point.in_s + point.out_s);
        }
    }
}

void Recovery::finished(int processor, Units units, double kernel_s, double total_s) {
    const auto p = static_cast<std::size_t>(processor);
    if (!measured_[p]) kernel_[p] = Pace();
    measured_[p] = true;
    last_asked_.reset();
    kernel_[p].add(units, kernel_s);
    whole_[p].add(units, total_s);
}

double Recovery::should_run_s(int processor, Units units) const {
    return known(processor) ? kernel_[static_cast<std::size_t>(processor)].at_most_s(units) : 0;
}

double Recovery::late_after_s(int processor, Units units) const { return kLate * should_run_s(processor, units); }

double Recovery::late_by_s(int processor, Units units, double ran_s) const {
    return ran_s - should_run_s(processor, units);
}

double Recovery::late_by_after_s(int processor, Units units, double late_s) const {
    return should_run_s(processor, units) + late_s;
}

/// What all that have finished a block would need together.
double Recovery::all_measured_s(Units units) const {
    if (last_asked_ && last_asked_->first == units) return last_asked_->second;
    std::vector<Free> others;
    for (int other = 0; other < static_cast<int>(kernel_.size()); ++other)
        if (measured(other)) others.push_back({other});
    last_asked_ = {units, together_s(others, units)};
    return last_asked_->second;
}

double Recovery::stalled_after_s(int processor, Units units) const {
    double seconds = should_run_s(processor, units);
    if (!measured(processor)) seconds = all_measured_s(units);
    return factor_ * std::max(kShortestStall_s, seconds);
}

double Recovery::together_s(const std::vector<Free>& processors, Units units) const {
    const auto done = [&](double seconds) {
        double sum = 0;
        for (const Free& p : processors)
            if (seconds >= p.in_s) sum += static_cast<double>(whole(p.processor).within(seconds - p.in_s));
        return sum;
    };
    double enough_s = std::numeric_limits<double>::infinity();
    for (const Free& p : processors) enough_s = std::min(enough_s, p.in_s + whole(p.processor).at_most_s(units));
    if (!(enough_s > 0) || std::isinf(enough_s)) return enough_s;
    double few_s = 0;
    constexpr int kHalvings = 20;
    for (int k = 0; k < kHalvings; ++k) {
        const double middle_s = (few_s + enough_s) / 2;
        (done(middle_s) >= static_cast<double>(units) ? enough_s : few_s) = middle_s;
    }
    return enough_s;
}

}  // namespace apportion
