// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

namespace apportion {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kSample = 15;
constexpr std::size_t kFewPoints = 100;  // per processor

// The value at `rank` of a sorted sample of kSample values; the rank in proportion where there are fewer.
double sample_quantile(const std::vector<double>& values, std::size_t rank) {
    std::array<double, kSample> sample{};
    const std::size_t count = std::min(kSample, values.size());
    for (std::size_t k = 0; k < count; ++k) sample[k] = values[k * values.size() / count];
    const auto at = sample.begin() + static_cast<std::ptrdiff_t>(rank * count / kSample);
    std::nth_element(sample.begin(), at, sample.begin() + static_cast<std::ptrdiff_t>(count));
    return *at;
}

template <typename Condition>
void keep_if(std::vector<double>& values, Condition condition) {
    std::size_t count = 0;
    for (const double value : values) {
        values[count] = value;
        count += condition(value);  // no branch: nobody can predict it
    }
    values.resize(count);
}

}  // namespace

double HpoptaSearch::makespan_s(Units units) {
    envelopes_.limit_sizes(units);
    return optimum(units);
}

double HpoptaSearch::optimum(Units units) {
    if (units == 0) return 0;
    const Units capacity = envelopes_.capacity();
    if (units > capacity) return kInfinity;
    double below = 0;  // no distribution takes so long or less
    double tau = envelopes_.bound(units);
    // The first steps are short, because a few units more make the subset sum possible nearly always.
    for (Units ahead = 16 * envelopes_.mean_step();; ahead *= 4) {
        deficits_.gather(units, tau);
        if (deficits_.attainable(tau)) break;
        if (tau == kInfinity) return kInfinity;
        below = tau;
        while (ahead < capacity - units && (tau = envelopes_.bound(units + ahead, below)) == below) ahead *= 4;
        if (tau == below) tau = kInfinity;
    }
    return below == 0 ? tau : select(below);
}

// The optimum is in (below, tau] of the sizes just gathered, and is the time of one of them; mostly of one of the
// first.
double HpoptaSearch::select(double below) {
    times_.clear();
    deficits_.collect_times(below, times_);
    double best = kInfinity;
    for (std::size_t rank = 0; !times_.empty();) {
        const double tau = sample_quantile(times_, rank);
        if (deficits_.attainable(tau)) {
            best = tau;
            deficits_.narrow(tau);
            keep_if(times_, [&](double t) { return t < tau; });
        } else {
            rank = std::min<std::size_t>(2 * rank + 1, kSample / 2);
            keep_if(times_, [&](double t) { return t > tau; });
        }
    }
    return best;
}

std::vector<Units> HpoptaSearch::distribute(Units units) {
    const std::size_t count = envelopes_.processors() * static_cast<std::size_t>(envelopes_.copies());
    if (units == 0) return std::vector<Units>(count, 0);
    const double makespan = makespan_s(units);
    if (makespan == kInfinity) return {};
    std::vector<Units> shares = deficits_.shares(makespan);
    const bool cheap = envelopes_.copies() == 1 && deficits_.gathered() <= kFewPoints * count;
    if (cheap && count > 1) speed_up_others(units, makespan, shares);
    return shares;
}

// Keeps the share of a slowest processor and distributes the rest over the others as fast as possible.
void HpoptaSearch::speed_up_others(Units units, double makespan, std::vector<Units>& shares) {
    std::size_t slowest = 0;
    while (envelopes_.sizes(slowest).seconds_for(shares[slowest]) != makespan) ++slowest;
    const Units kept = shares[slowest];
    if (kept == units) return;
    deficits_.fix(slowest, kept);
    const double bound = deficits_.bound();
    shares = deficits_.shares(deficits_.attainable(bound) ? bound : select(bound));
    shares[slowest] = kept;
}

Plan optimal_plan(std::string algorithm, const DiscreteProblem& problem, Units units, HpoptaSearch& search) {
    Plan plan;
    plan.algorithm = std::move(algorithm);
    plan.failure = problem.why_impossible(units);
    if (!plan.failure.empty()) return plan;
    try {
        plan.shares = search.distribute(units);
    } catch (const std::length_error&) {
        plan.failure = kTooManySums;
        return plan;
    }
    if (plan.shares.empty()) {
        plan.failure = problem.why_unreachable(units);
        return plan;
    }
    finish_optimal(plan, problem);
    return plan;
}

}  // namespace apportion
