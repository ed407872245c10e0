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
    lane.samples.push_back({static_cast<double>(units), std::max(0.0, end_s - std::max(given_s, lane.last_end_s))});
    if (lane.samples.size() > kRemembered) lane.samples.pop_front();
    lane.last_end_s = std::max(lane.last_end_s, end_s);
}

bool ProcessorWatch::all_lost() const {
    return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.lost; });
}

/// By its own blocks, or else by the forecast.
std::optional<double> ProcessorWatch::expected_s(const Lane& lane, Units units) {
    const double x = static_cast<double>(units), infinite = std::numeric_limits<double>::infinity();
    if (lane.samples.empty()) return lane.forecast ? std::optional(lane.forecast->at(x)) : std::nullopt;
    double least_s = infinite;
    for (const Sample& small : lane.samples) {
        if (small.units <= x) least_s = std::min(least_s, small.at(x));
        for (const Sample& large : lane.samples) {
            if (small.units >= large.units || small.seconds >= large.seconds || x > large.units) continue;
            const double slope = (large.seconds - small.seconds) / (large.units - small.units);
            const double line_s = large.seconds - slope * (large.units - x);
            least_s = std::min(least_s, std::max(line_s, small.seconds * std::min(1.0, x / small.units)));
        }
    }
    if (least_s == infinite)
        for (const Sample& sample : lane.samples) least_s = std::min(least_s, sample.at(x));
    return least_s;
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

/// What others would need: all that are left, or those that are idle; infinite where these are less than half of all.
double ProcessorWatch::again_s(int late, Units units, const std::vector<int>* idle) const {
    double speed = 0, all = 0;
    for (int processor = 0; processor < static_cast<int>(lanes_.size()); ++processor) {
        const auto seconds = expected_s(processor, units);
        if (!seconds || lanes_[processor].lost || processor == late) continue;
        const double its_speed = 1 / std::max(*seconds, 1e-9);
        all += its_speed;
        if (!idle || std::ranges::find(*idle, processor) != idle->end()) speed += its_speed;
    }
    return 2 * speed >= all && speed > 0 ? 1 / speed : std::numeric_limits<double>::infinity();
}

double ProcessorWatch::began_s(int processor, double given_s) const {
    return std::max({given_s, lanes_[processor].last_end_s, resumed_s_});
}

/// As it is known of the processor itself, or else of its kind.
std::optional<double> ProcessorWatch::expected_s(int processor, Units units) const {
    const Lane& lane = lanes_[processor];
    const auto own = expected_s(lane, units);
    if (!own) return expected_of_kind_s(lane.kind, units);
    if (lane.samples.size() != 1) return own;
    // From one block to a larger one as with those of its kind, who know both sizes.
    const Sample& probe = lane.samples.front();
    double least_s = *own;
    for (const Lane& other : lanes_) {
        if (&other == &lane || other.kind != lane.kind || other.samples.size() < 2) continue;
        const double growth = *expected_s(other, units) / *expected_s(other, static_cast<Units>(probe.units));
        least_s = std::min(least_s, probe.seconds * growth);
    }
    return least_s;
}

bool ProcessorWatch::silent(int processor, Units units, double waited_s) const {
    if (const auto expected = expected_s(processor, units))
        return waited_s - *expected > std::max(kShortestSilence_s, factor_ * *expected);
    const auto slowest = slowest_s(units);
    return slowest && waited_s > std::max(kShortestSilence_s, factor_ * factor_ * *slowest);
}

double ProcessorWatch::late_at_s(int processor, Units units, double given_s, Copies copies) const {
    const auto expected = expected_s(processor, units);
    if (!expected) return std::numeric_limits<double>::infinity();
    const double longest_s = std::max(kLongestDelay_s, kLongNoise * *expected);
    double delay_s = std::clamp(kNoise * *expected, kShortestDelay_s, longest_s);
    if (copies == Copies::costly)
        delay_s = std::max({delay_s, kShortestCostlyDelay_s, again_s(processor, units, nullptr)});
    return began_s(processor, given_s) + *expected + delay_s;
}

ProcessorWatch::Verdict ProcessorWatch::judge(int processor, Units units, double given_s, double now_s, Copies copies,
                                              const std::vector<int>& idle) const {
    const double waited = waited_s(processor, given_s, now_s);
    if (silent(processor, units, waited)) return Verdict::silent;
    if (now_s > late_at_s(processor, units, given_s, copies)) return Verdict::late;
    const auto expected = expected_s(processor, units);
    if (idle.empty() || (copies == Copies::costly && expected)) return Verdict::on_time;
    const double again = again_s(processor, units, &idle);
    if (waited <= std::max(kShortestDelay_s, again)) return Verdict::on_time;
    constexpr double kLittle = 1.02, kMuch = 0.75;
    return !expected || waited > kLittle * *expected || waited + again < kMuch * *expected ? Verdict::late
                                                                                           : Verdict::on_time;
}

bool ProcessorWatch::gone(int processor, Units units, double waited_s) const {
    constexpr double kLongAfter = 3;
    return waited_s > std::max(kShortestSilence_s, kLongAfter * expected_s(processor, units).value_or(0));
}

}  // namespace apportion
