// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/processor_watch.hpp"

#include <algorithm>
#include <limits>

namespace apportion {

void ProcessorWatch::begin(std::span<const Processor> processors) {
    lanes_.resize(processors.size());
    for (std::size_t p = 0; p < processors.size(); ++p) {
        lanes_[p].kind = processors[p].kind;
        lanes_[p].last_end_s = 0;
        lanes_[p].lost = false;
    }
    resumed_s_ = 0;
}

void ProcessorWatch::finished(int processor, Units units, double given_s, double end_s) {
    constexpr std::size_t kRemembered = 4;  // few, so that a processor that became slower is soon judged by that
    Lane& lane = lanes_[processor];
    lane.samples.push_back({units, std::max(0.0, end_s - std::max(given_s, lane.last_end_s))});
    if (lane.samples.size() > kRemembered) lane.samples.pop_front();
    lane.last_end_s = std::max(lane.last_end_s, end_s);
}

bool ProcessorWatch::all_lost() const {
    return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.lost; });
}

/// By its own blocks, or else by the forecast.
std::optional<double> ProcessorWatch::expected_s(const Lane& lane, Units units) {
    const auto in_proportion = [units](const Sample& sample) {
        return sample.seconds * std::max(1.0, static_cast<double>(units) / static_cast<double>(sample.units));
    };
    if (lane.samples.empty()) {
        if (lane.forecast) return in_proportion(*lane.forecast);
        return std::nullopt;
    }
    double least = std::numeric_limits<double>::infinity();
    for (const Sample& sample : lane.samples) least = std::min(least, in_proportion(sample));
    return least;
}

std::optional<double> ProcessorWatch::expected_of_kind_s(int kind, Units units) const {
    std::optional<double> most;
    for (const Lane& lane : lanes_)
        if (const auto expected = expected_s(lane, units); expected && lane.kind == kind)
            most = std::max(most.value_or(0), *expected);
    return most;
}

std::optional<double> ProcessorWatch::slowest_s(Units units) const {
    std::optional<double> most;
    for (const Lane& lane : lanes_)
        if (const auto expected = expected_s(lane, units)) most = std::max(most.value_or(0), *expected);
    return most;
}

/// What those that are left would need together.
double ProcessorWatch::others_s(int processor, Units units) const {
    double speed = 0;
    for (const Lane& lane : lanes_) {
        if (&lane == &lanes_[processor] || lane.lost) continue;
        if (const auto seconds = expected_s(lane, units)) speed += 1 / std::max(*seconds, 1e-9);
    }
    return speed > 0 ? 1 / speed : std::numeric_limits<double>::infinity();
}

double ProcessorWatch::waited_s(int processor, double given_s, double now_s) const {
    return now_s - std::max({given_s, lanes_[processor].last_end_s, resumed_s_});
}

/// As it is known of the processor itself, or else of its kind.
std::optional<double> ProcessorWatch::expected_s(int processor, Units units) const {
    const Lane& lane = lanes_[processor];
    const auto own = expected_s(lane, units);
    return own ? own : expected_of_kind_s(lane.kind, units);
}

bool ProcessorWatch::silent(int processor, Units units, double waited_s) const {
    if (const auto expected = expected_s(processor, units))
        return waited_s - *expected > std::max(kShortestSilence_s, factor_ * *expected);
    const auto slowest = slowest_s(units);
    return slowest && waited_s > std::max(kShortestSilence_s, factor_ * factor_ * *slowest);
}

ProcessorWatch::Verdict ProcessorWatch::judge(int processor, Units units, double given_s, double now_s) const {
    // Of the time that a block should take; more than chance. Less for long ones, from kLongestDelay_s on.
    constexpr double kNoise = 0.3, kLongNoise = 0.05;
    const double waited = waited_s(processor, given_s, now_s);
    if (silent(processor, units, waited)) return Verdict::silent;
    const auto expected = expected_s(processor, units);
    if (!expected) return Verdict::on_time;
    const double longest_s = std::max(kLongestDelay_s, kLongNoise * *expected);
    const double delay_s = std::clamp(kNoise * *expected, kShortestDelay_s, longest_s);
    const double bearable_s = std::max(delay_s, others_s(processor, units));
    return waited - *expected > bearable_s ? Verdict::overdue : Verdict::on_time;
}

bool ProcessorWatch::gone(int processor, Units units, double waited_s) const {
    constexpr double kLongAfter = 3;
    return waited_s > std::max(kShortestSilence_s, kLongAfter * expected_s(processor, units).value_or(0));
}

}  // namespace apportion
