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
constexpr double kFewSteps = 1e4;        // of breaking ties unasked, some 50 us
constexpr double kManySteps = 2e7;       // and asked, some 0.1 s

// The value at `rank` of a sorted sample of kSample values, of which there are more.
double sample_quantile(const std::vector<double>& values, std::size_t rank) {
    std::array<double, kSample> sample{};
    for (std::size_t k = 0; k < kSample; ++k) sample[k] = values[k * values.size() / kSample];
    const auto at = sample.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(sample.begin(), at, sample.end());
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
    // A few units more make the subset sum possible nearly always, so the sizes for these are gathered at once. When
    // prepared, another bound is cheaper than they are.
    const Units few = 16 * envelopes_.mean_step();
    for (Units ahead = envelopes_.prepared() ? 0 : std::min(few, capacity - units);; ahead = std::max(few, 4 * ahead)) {
        const double tau = ahead == 0 || ahead < capacity - units ? envelopes_.bound(units + ahead, below) : kInfinity;
        if (tau == below) continue;
        deficits_.gather(units, tau);
        if (below == 0) {
            below = ahead == 0 ? tau : deficits_.bound();
            if (deficits_.attainable(below)) return below;
        }
        if (const double best = select(below); best < kInfinity || tau == kInfinity) return best;
        below = tau;
    }
}

// The optimum above `below`, if it is the time of one of the sizes just gathered, mostly of one of the first; else
// infinity.
double HpoptaSearch::select(double below) {
    times_.clear();
    deficits_.collect_times(below, times_);
    double best = kInfinity;
    const auto attain = [&](double tau) {
        if (!deficits_.attainable(tau)) return false;
        best = tau;
        deficits_.narrow(tau);
        return true;
    };
    std::size_t rank = 0;
    while (times_.size() > kSample) {
        const double tau = sample_quantile(times_, rank);
        if (attain(tau)) {
            keep_if(times_, [&](double t) { return t < tau; });
        } else {
            rank = std::min<std::size_t>(2 * rank + 1, kSample / 2);
            keep_if(times_, [&](double t) { return t > tau; });
        }
    }
    std::sort(times_.begin(), times_.end());
    for (std::size_t first = 0, last = times_.size(); first < last;) {
        const std::size_t at = std::min(first + rank, (first + last) / 2);
        if (deficits_.attainable(times_[at])) {
            best = times_[at];
            last = at;
        } else {
            first = at + 1;
            rank = 2 * rank + 1;
        }
    }
    return best;
}

std::vector<Units> HpoptaSearch::distribute(Units units, std::span<const Units> previous) {
    const std::size_t count = envelopes_.processors() * static_cast<std::size_t>(envelopes_.copies());
    if (units == 0) return std::vector<Units>(count, 0);
    const double makespan = makespan_s(units);
    if (makespan == kInfinity) return {};
    const bool cheap = envelopes_.copies() == 1 && deficits_.gathered() <= kFewPoints * count;
    if (!cheap && previous.empty()) return deficits_.shares(makespan);
    deficits_.narrow(makespan);
    const std::vector<Deficits::Share> slowest = deficits_.taking(makespan);
    if (slowest.size() == 1 && previous.empty()) return with_fastest_others(units, slowest[0]);
    std::vector<Units> shares =
        break_ties(deficits_.options(), units, previous, previous.empty() ? kFewSteps : kManySteps);
    if (!shares.empty()) return shares;
    shares = deficits_.shares(makespan);
    return cheap ? with_fastest_others(units, slowest_of(shares, makespan)) : shares;
}

Deficits::Share HpoptaSearch::slowest_of(std::span<const Units> shares, double makespan) const {
    std::size_t i = 0;
    while (envelopes_.sizes(i).seconds_for(shares[i]) != makespan) ++i;
    return {i, shares[i]};
}

std::vector<Units> HpoptaSearch::with_fastest_others(Units units, const Deficits::Share& slowest) {
    std::vector<Units> shares;
    if (slowest.units < units) {
        deficits_.fix(slowest);
        const double bound = deficits_.bound();
        shares = deficits_.shares(bound);
        if (shares.empty()) shares = deficits_.shares(select(bound));
    }
    shares.resize(envelopes_.processors());
    shares[slowest.processor] = slowest.units;
    return shares;
}

Plan optimal_plan(std::string algorithm, const DiscreteProblem& problem, Units units, HpoptaSearch& search,
                  std::span<const Units> previous) {
    Plan plan;
    plan.algorithm = std::move(algorithm);
    plan.failure = problem.why_impossible(units);
    if (!plan.failure.empty()) return plan;
    try {
        plan.shares = search.distribute(units, previous);
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
