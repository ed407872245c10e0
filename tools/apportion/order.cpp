// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/order.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

namespace apportion {

namespace {

/// Smaller differences of exact times do not show in the four digits that are printed: they are microseconds in which a
/// scheduler submits its tasks, or rounding.
constexpr double kNotShown = 1e-4;

}  // namespace

Interval median_interval(std::vector<double> values) {
    std::ranges::sort(values);
    const auto n = static_cast<int>(values.size());
    // The median lies below the k-th smallest value when at most k - 1 of n values are below it.
    const boost::math::binomial_distribution<> below(n, 0.5);
    int k = 1;
    while (2 * k < n && 1 - 2 * cdf(below, k) >= kConfidence) ++k;
    return {values[static_cast<std::size_t>(k - 1)], values[static_cast<std::size_t>(n - k)],
            n > 1 ? 1 - 2 * cdf(below, k - 1) : 0};
}

double log_evidence(int wins, int losses) {
    const int n = wins + losses;
    return n * std::log(2.0) + std::lgamma(wins + 1.0) + std::lgamma(losses + 1.0) - std::lgamma(n + 2.0);
}

Order::Order(std::vector<SecondsByRound> candidates, std::size_t pairs, bool exact)
    : candidates_(std::move(candidates)),
      log_threshold_(std::log(static_cast<double>(std::max<std::size_t>(pairs, 1)) / kOrderError)),
      exact_(exact) {}

std::vector<double> Order::ratios(std::size_t b, std::size_t a) const {
    std::vector<double> result;
    for (const auto& [round, seconds] : candidates_[a])
        if (const auto other = candidates_[b].find(round); other != candidates_[b].end() && seconds > 0)
            result.push_back(other->second / seconds);
    return result;
}

bool Order::faster(std::size_t a, std::size_t b) const {
    const std::vector<double> found = ratios(b, a);
    if (found.empty()) return false;
    if (exact_) return median(found) > 1 + kNotShown;
    const auto wins = static_cast<int>(std::ranges::count_if(found, [](double r) { return r > 1; }));
    const auto losses = static_cast<int>(std::ranges::count_if(found, [](double r) { return r < 1; }));
    return wins > losses && log_evidence(wins, losses) >= log_threshold_;
}

bool Order::alike(std::size_t a, std::size_t b) const {
    const std::vector<double> found = ratios(b, a);
    if (found.empty()) return false;
    const Interval interval = median_interval(found);
    return interval.confidence >= kConfidence && interval.low > 1 - kAlike && interval.high < 1 + kAlike;
}

bool Order::settled() const {
    for (std::size_t a = 0; a < candidates_.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (!settled(a, b)) return false;
    return true;
}

int Order::rank(std::size_t a) const {
    int rank = 1;
    for (std::size_t b = 0; b < candidates_.size(); ++b) rank += b != a && faster(b, a);
    return rank;
}

Interval Order::ratio(std::size_t b, std::size_t a) const {
    const std::vector<double> found = ratios(b, a);
    return found.empty() ? Interval{} : median_interval(found);
}

double Order::median_ratio(std::size_t b, std::size_t a) const {
    const std::vector<double> found = ratios(b, a);
    return found.empty() ? std::nan("") : median(found);
}

}  // namespace apportion
