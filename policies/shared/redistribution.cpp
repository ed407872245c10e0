// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/redistribution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace apportion {

namespace {

constexpr double kNearBest = 0.01;  // makespans that much above the best count as equally good
constexpr int kSlowRuns = 2;        // in a row: a change
constexpr int kMostAveraged = 8;
constexpr double kWorse = 1.02;     // than the best known distribution: taken back
constexpr double kMostGain = 0.32;  // asked for after distributions that were taken back

double longest(std::span<const double> shares, const SecondsOfShare& seconds) {
    double longest_s = 0;
    for (std::size_t p = 0; p < shares.size(); ++p)
        if (shares[p] > 0) longest_s = std::max(longest_s, seconds(p, shares[p]));
    return longest_s;
}

/// The largest share up to `most` that is done in time.
double units_within(std::size_t processor, double most, double within_s, const SecondsOfShare& seconds) {
    if (most <= 0 || seconds(processor, most) <= within_s) return most;
    constexpr int kHalvings = 30;
    double low = 0, high = most;
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = (low + high) / 2;
        (seconds(processor, middle) <= within_s ? low : high) = middle;
    }
    return low;
}

}  // namespace

double moving_seconds(const LoadDescription& load, std::span<const double> from, std::span<const double> to) {
    double longest_s = 0;
    for (std::size_t p = 0; load.data_stay && p < std::min(load.links.size(), from.size()); ++p) {
        if (to[p] != from[p])
            longest_s =
                std::max(longest_s, load.links[p].latency_s + load.staying * load.links[p].seconds_per_unit * to[p]);
    }
    return longest_s;
}

int runs_to_come(const LoadDescription& load) {
    return std::max(1, load.runs_expected > 0 ? load.runs_expected - load.run + 1 : load.run - 1);
}

std::vector<double> least_movement(std::span<const double> current, double within_s, const SecondsOfShare& seconds) {
    // Clamp shares that end too late; give the excess to processors with slack, in proportion.
    std::vector<double> shares, free(current.size(), 0);
    double given_up = 0, all_free = 0;
    for (std::size_t p = 0; p < current.size(); ++p) {
        shares.push_back(units_within(p, current[p], within_s, seconds));
        given_up += current[p] - shares[p];
    }
    for (std::size_t p = 0; p < current.size() && given_up > 0; ++p) {
        if (shares[p] < current[p]) continue;
        free[p] = units_within(p, shares[p] + given_up, within_s, seconds) - shares[p];
        all_free += free[p];
    }
    for (std::size_t p = 0; p < current.size() && all_free > 0; ++p) shares[p] += given_up * free[p] / all_free;
    return shares;
}

std::vector<Units> whole_shares(std::span<const double> shares, Units granularity) {
    constexpr double kWhole = 1e-9;  // of a granule: 3.9999999999 is 4
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(granularity);
    Units left = static_cast<Units>(std::ceil(sum - kWhole * sum));
    std::vector<Units> whole;
    std::vector<std::pair<double, std::size_t>> cut_off;
    for (std::size_t p = 0; p < shares.size(); ++p) {
        const double granules = shares[p] / static_cast<double>(granularity);
        whole.push_back(static_cast<Units>(std::floor(granules * (1 + kWhole))));
        left -= whole.back();
        cut_off.emplace_back(static_cast<double>(whole.back()) - granules, p);
    }
    std::sort(cut_off.begin(), cut_off.end());
    for (std::size_t k = 0; left > 0; k = (k + 1) % cut_off.size(), --left) ++whole[cut_off[k].second];
    for (Units& units : whole) units *= granularity;
    return whole;
}

double Rebalancer::Known::run_s() const {
    return mean_s.empty() ? std::numeric_limits<double>::infinity() : *std::max_element(mean_s.begin(), mean_s.end());
}

/// False: nothing to be learnt from that run.
bool Rebalancer::learn(const LoadDescription& load, std::span<const double> shares, std::span<const double> times_s) {
    const auto same = [&](const Known& known) {
        return std::equal(shares.begin(), shares.end(), known.shares.begin(), known.shares.end());
    };
    const double run_s = *std::max_element(times_s.begin(), times_s.end());
    if (!same(current_)) {
        const std::vector<double> from =
            current_.shares.empty() ? std::vector<double>(shares.size(), 0) : current_.shares;
        current_ = same(best_) ? best_ : Known{{shares.begin(), shares.end()}, {}, 0};
        slow_runs_ = 0;
        settling_s_ = 0;
        if (const double moving_s = moving_seconds(load, from, shares); moving_s > kLeastGain * run_s) {
            moving_ratio_ = std::max(moving_ratio_, run_s / moving_s);
            settling_s_ = run_s;
            return false;
        }
    }
    if (settling_s_ > 0) {
        settling_s_ = kClearlyLonger * run_s < settling_s_ ? run_s : 0;
        if (settling_s_ > 0) return false;
    }
    if (current_.runs > 0 && run_s > kClearlyLonger * current_.run_s()) {
        if (++slow_runs_ < kSlowRuns) return false;
        current_.runs = 0;
        best_ = {};
        least_gain_ = kLeastGain;
    }
    slow_runs_ = 0;
    if (current_.runs == 0) current_.mean_s.assign(times_s.size(), 0);
    current_.runs = std::min(current_.runs + 1, kMostAveraged);
    for (std::size_t p = 0; p < times_s.size(); ++p)
        current_.mean_s[p] += (times_s[p] - current_.mean_s[p]) / current_.runs;
    return true;
}

Redistribution Rebalancer::decide(const LoadDescription& load, std::span<const double> shares,
                                  std::span<const double> times_s, const SecondsOfShare& seconds) {
    Redistribution kept;
    kept.shares.assign(shares.begin(), shares.end());
    if (times_s.empty()) {
        current_ = {kept.shares, {}, 0};
        return better_than_current(load, seconds);
    }
    kept.run_s = current_.run_s();
    if (!learn(load, shares, times_s)) return kept;
    kept.run_s = current_.run_s();
    if (best_.shares == current_.shares || current_.run_s() <= best_.run_s()) {
        best_ = current_;
    } else if (current_.run_s() > kWorse * best_.run_s()) {
        least_gain_ = std::min(2 * least_gain_, kMostGain);
        const double gain_s = current_.run_s() - best_.run_s();
        if (gain_s * runs_to_come(load) > moving_ratio_ * moving_seconds(load, shares, best_.shares))
            return {true, best_.shares, best_.run_s()};
    }
    return better_than_current(load, seconds);
}

Redistribution Rebalancer::better_than_current(const LoadDescription& load, const SecondsOfShare& seconds) const {
    const std::vector<double>& current = current_.shares;
    std::vector<double> scale(current.size(), 1);
    for (std::size_t p = 0; p < current_.mean_s.size(); ++p)
        if (current[p] > 0 && current_.mean_s[p] > 0) scale[p] = current_.mean_s[p] / seconds(p, current[p]);
    const SecondsOfShare scaled = [&](std::size_t p, double units) { return scale[p] * seconds(p, units); };
    const auto units = static_cast<double>(load.units);
    const auto enough = [&](double within_s) {
        double sum = 0;
        for (std::size_t p = 0; p < current.size() && sum < units; ++p) sum += units_within(p, units, within_s, scaled);
        return sum >= units;
    };

    const double current_s = longest(current, scaled);
    double best_s = (1 - least_gain_) * current_s, late_s = 0;
    Redistribution result{false, current, current_s};
    if (!enough(best_s)) return result;
    while (best_s - late_s > kNearBest / 4 * best_s) {
        const double middle_s = (late_s + best_s) / 2;
        (enough(middle_s) ? best_s : late_s) = middle_s;
    }
    std::vector<double> shares = least_movement(current, (1 + kNearBest) * best_s, scaled);
    const double gain_s = current_s - longest(shares, scaled);
    if (gain_s > least_gain_ * current_s &&
        gain_s * runs_to_come(load) > moving_ratio_ * moving_seconds(load, current, shares))
        result = {true, std::move(shares), current_s - gain_s};
    return result;
}

}  // namespace apportion
