// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/hpopta.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace apportion {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename Condition>
void keep_if(std::vector<double>& values, Condition condition) {
    std::size_t count = 0;
    for (const double value : values) {
        values[count] = value;
        count += condition(value);  // no branch: it cannot be predicted
    }
    values.resize(count);
}

Plan optimal_plan(const DiscreteProblem& problem, Units units, HpoptaSearch& search) {
    Plan plan;
    plan.failure = problem.why_impossible(units);
    if (!plan.failure.empty()) return plan;
    try {
        plan.shares = search.distribute(units);
        if (plan.shares.empty()) plan.failure = problem.why_unreachable(units);
    } catch (const std::length_error&) {
        plan.failure = kTooManySums;
    }
    if (plan.failure.empty()) finish_optimal(plan, problem);
    return plan;
}

}  // namespace

double HpoptaSearch::makespan_s(Units units) {
    if (units == 0) return 0;
    const Units capacity = envelopes_.capacity();
    if (units > capacity) return kInfinity;
    // The bound is attained mostly, and else a few units more make the subset sum possible nearly always.
    double below = 0;  // no distribution takes so long or less
    for (Units ahead = 0;; ahead = std::max(16 * envelopes_.mean_step(), 4 * ahead)) {
        const double tau = ahead == 0 || ahead < capacity - units ? envelopes_.bound(units + ahead) : kInfinity;
        if (tau == below) continue;
        if (gather(units, tau)) {
            if (ahead == 0 && attainable(tau)) return tau;
            const double best = ahead == 0 ? kInfinity : first_attainable(below);
            if (best < kInfinity) return best;
        }
        if (tau == kInfinity) return kInfinity;
        below = tau;
    }
}

// All sizes that a distribution of `units` within tau, or within less, can contain. Sums of largest sizes only fall
// with tau, by no more than the slack at the tau given here; so sizes further than that below the largest are of no
// use. False when the largest sizes do not suffice.
bool HpoptaSearch::gather(Units units, double tau) {
    units_ = units;
    lanes_.resize(envelopes_.processors());
    Units slack = -units;
    envelopes_.seek(tau);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        const SizeTimes& sizes = envelopes_.sizes(i);
        std::size_t end = envelopes_.count_within(i, tau);
        if (end > 0 && sizes.size(end - 1) > units) {
            end = sizes.count_up_to(units);
            while (end > 0 && sizes.seconds(end - 1) > tau) --end;
        }
        lanes_[i] = {0, end, end, end == 0 ? 0 : sizes.size(end - 1)};
        slack += lanes_[i].largest;
    }
    if (slack < 0) return false;
    std::size_t count = 0;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        const SizeTimes sizes = envelopes_.sizes(i);  // kept in registers
        Lane& lane = lanes_[i];
        const std::size_t first = sizes.count_below(lane.largest - slack, lane.end);
        points_.resize(std::max(points_.size(), count + lane.end - first + 1));
        lane.begin = count;
        for (std::size_t k = first; k < lane.end; ++k) {
            points_[count] = {sizes.size(k), sizes.seconds(k)};
            count += sizes.seconds(k) <= tau;  // no branch here either
        }
        lane.end = lane.end_within = count;
    }
    count_ = count;
    return true;
}

// Forgets the points that take longer than tau.
void HpoptaSearch::narrow(double tau) {
    std::size_t count = 0;
    for (Lane& lane : lanes_) {
        const std::size_t begin = count;
        for (std::size_t k = lane.begin; k < lane.end; ++k) {
            points_[count] = points_[k];
            count += points_[k].seconds <= tau;
        }
        lane.begin = begin;
        lane.end = lane.end_within = count;
    }
    count_ = count;
}

// Finds the largest sizes within tau; returns by how much they exceed the units.
Units HpoptaSearch::find_slack(double tau) {
    Units slack = -units_;
    for (Lane& lane : lanes_) {
        lane.end_within = lane.end;
        slack += step_down(lane, tau);
    }
    return slack;
}

Units HpoptaSearch::step_down(Lane& lane, double tau) const {
    while (lane.end_within > lane.begin && points_[lane.end_within - 1].seconds > tau) --lane.end_within;
    return lane.largest = lane.end_within == lane.begin ? 0 : points_[lane.end_within - 1].size;
}

// Whether the units can be distributed within tau; if so and wanted, the deficits of a distribution.
bool HpoptaSearch::attainable(double tau, std::vector<Units>* deficits) {
    const Units slack = find_slack(tau);
    if (slack < 0) return false;
    numbers_.resize(std::max(numbers_.size(), count_ + 3 * lanes_.size()));
    Units* numbers = numbers_.data();
    sets_.clear();
    for (const Lane& lane : lanes_) {  // 0 and the deficits up to the slack, ascending; the last one is of no share
        std::size_t count = 0;
        numbers[count++] = 0;
        for (std::size_t k = lane.end_within; k > lane.begin + 1; --k) {
            const Units deficit = lane.largest - points_[k - 2].size;
            if (deficit > slack) break;
            numbers[count] = deficit;
            count += points_[k - 2].seconds <= tau;
        }
        if (lane.largest > 0 && lane.largest <= slack) numbers[count++] = lane.largest;
        sets_.emplace_back(numbers, count);
        numbers += count;
    }
    return subset_sum_.choose(sets_, slack, deficits);
}

// The smallest time of a gathered point above `below` in which the units can be distributed, or infinity.
double HpoptaSearch::first_attainable(double below) {
    times_.clear();
    for (std::size_t k = 0; k < count_; ++k) times_.push_back(points_[k].seconds);
    keep_if(times_, [&](double t) { return t > below; });
    double best = kInfinity;
    while (!times_.empty()) {
        const double tau = std::min(times_[random_() % times_.size()], times_[random_() % times_.size()]);
        if (attainable(tau)) {
            best = tau;
            keep_if(times_, [&](double t) { return t < tau; });
            narrow(tau);
        } else {
            keep_if(times_, [&](double t) { return t > tau; });
        }
    }
    return best;
}

std::vector<Units> HpoptaSearch::distribute(Units units) {
    if (units == 0) return std::vector<Units>(envelopes_.processors(), 0);
    const double makespan = makespan_s(units);
    std::vector<Units> shares;
    if (makespan == kInfinity) return shares;
    attainable(makespan, &shares);
    for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = lanes_[i].largest - shares[i];
    return shares;
}

Plan plan_hpopta(const PlanProblem& problem) {
    const DiscreteProblem discrete(problem, problem.units);
    HpoptaSearch search(discrete.processors());
    return optimal_plan(discrete, problem.units, search);
}

Plan PreparedHpopta::plan(Units units) { return optimal_plan(problem_, units, search_); }

}  // namespace apportion
