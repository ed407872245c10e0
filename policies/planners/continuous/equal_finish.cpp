// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/continuous/equal_finish.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace apportion {

namespace {

constexpr int kMostSteps = 200;

/// The largest share that finishes by some T: not below `low`, which does, nor above `high`; sought first at
/// `expected`.
struct Bracket {
    double low = 0;
    double high = 0;
    double expected = 0;
};

class Solver {
  public:
    explicit Solver(const EqualFinishProblem& problem)
        : problem_(problem), at_low_(problem.processors.size()), slopes_(problem.processors.size()) {}
    EqualFinishPlan solve();
    double share_ending_by(double finish_s) {
        const EqualFinishProcessor& p = problem_.processors[0];
        return share(0, finish_s, {0, bound(p), p.expected_units});
    }

  private:
    double bound(const EqualFinishProcessor& p) const { return std::min(p.maximum_units, problem_.units); }
    double share(std::size_t g, double finish_s, Bracket bracket) const;
    double shares(double finish_s, double last_s, std::vector<double>& out, double& slope);

    const EqualFinishProblem& problem_;
    std::vector<double> at_low_, at_high_;
    std::vector<double> slopes_;  ///< units per second of the last T, per processor
    EqualFinishPlan plan_;
};

double Solver::share(std::size_t g, double finish_s, Bracket bracket) const {
    const EqualFinishProcessor& p = problem_.processors[g];
    const double budget_s = finish_s - p.busy_until_s, most = bracket.high;
    if (budget_s <= 0 || most <= 0) return 0;
    const auto late = [&](double x) { return p.time->seconds(x) - budget_s; };
    const double width = problem_.tolerance * problem_.units * 1e-2;
    const auto inside = [&](double x) { return x > bracket.low && x < bracket.high; };
    bool some_fits = bracket.low > 0, most_fits = true;  // as far as is known
    double x = inside(bracket.expected) ? bracket.expected : most;
    for (int step = 0; step < kMostSteps; ++step) {
        const double excess_s = late(x);
        if (excess_s <= 0) {
            if (x >= most) return most;
            bracket.low = x;
            some_fits = true;
        } else {
            bracket.high = x;
            most_fits = false;
        }
        if (!most_fits && bracket.high - bracket.low <= width) break;
        // Newton; bisection when it leaves the bracket or when it has been slow (a jump).
        const double next = x - excess_s / p.time->derivative(x);
        if (std::abs(next - x) <= width && std::abs(excess_s) <= problem_.tolerance * finish_s) return x;
        if (most_fits && !(next < bracket.high)) {
            x = most;
        } else if (!some_fits && !(next > bracket.low)) {
            if (late(0) >= 0) return 0;  // not even the fixed part of E fits
            some_fits = true;
            x = (bracket.low + bracket.high) / 2;
        } else {
            x = inside(next) && step % 8 != 7 ? next : (bracket.low + bracket.high) / 2;
        }
    }
    return bracket.low;
}

/// Fills in the shares that finish by T, where they did by `last_s`, and returns their sum; `slope` is its derivative.
double Solver::shares(double finish_s, double last_s, std::vector<double>& out, double& slope) {
    double sum = 0;
    slope = 0;
    for (std::size_t g = 0; g < problem_.processors.size(); ++g) {
        const EqualFinishProcessor& p = problem_.processors[g];
        const double most = at_high_.empty() ? bound(p) : at_high_[g];
        const double expected = out[g] > 0 ? out[g] + (finish_s - last_s) * slopes_[g] : p.expected_units;
        out[g] = share(g, finish_s, {at_low_[g], most, expected});
        sum += out[g];
        slopes_[g] = 0;
        if (out[g] > 0 && out[g] < bound(p)) {
            const double seconds_per_unit = p.time->derivative(out[g]);
            if (seconds_per_unit > 0) slopes_[g] = 1 / seconds_per_unit;
        }
        slope += slopes_[g];
    }
    return sum;
}

EqualFinishPlan Solver::solve() {
    const double n = problem_.units;
    plan_.shares_units.assign(problem_.processors.size(), 0);
    if (n <= 0 || problem_.processors.empty()) {
        plan_.feasible = n <= 0;
        return plan_;
    }
    // Brackets of T: no processor can start before `low`; by `high` the best single processor, or all at their bounds,
    // are done.
    double low = std::numeric_limits<double>::infinity(), high = 0, room = 0;
    double alone = std::numeric_limits<double>::infinity();
    for (const EqualFinishProcessor& p : problem_.processors) {
        const double most = bound(p);
        room += most;
        if (most <= 0) continue;
        const double end_s = p.busy_until_s + p.time->seconds(most);
        low = std::min(low, p.busy_until_s);
        high = std::max(high, end_s);
        if (most >= n) alone = std::min(alone, end_s);
    }
    if (room < n * (1 - problem_.tolerance)) {
        plan_.feasible = false;
        for (std::size_t g = 0; g < problem_.processors.size(); ++g)
            plan_.shares_units[g] = bound(problem_.processors[g]);
        plan_.finish_s = high;
        return plan_;
    }
    high = std::min(high, alone);
    std::vector<double> current(problem_.processors.size());
    double slope = 0, sum = 0, t = 0;
    const auto narrow = [&](double finish_s) {
        sum = shares(finish_s, std::exchange(t, finish_s), current, slope);
        (sum >= n ? high : low) = t;
        (sum >= n ? at_high_ : at_low_) = current;
    };
    const double expected_s = problem_.expected_finish_s;
    narrow(expected_s > low && expected_s < high ? expected_s : high);
    // Newton on T, bisection where it fails; brackets of T bracket the shares as well.
    const auto found = [&] { return std::abs(sum - n) <= problem_.tolerance * n; };
    for (int step = 0; step < kMostSteps && !found() && high - low > problem_.tolerance * 1e-2 * high; ++step) {
        const double next = slope > 0 ? t - (sum - n) / slope : low;
        narrow(next > low && next < high && step % 8 != 7 ? next : (low + high) / 2);
    }
    // Exactly n, also where a share jumps between the two ends of the bracket.
    if (found()) {
        for (std::size_t g = 0; g < current.size(); ++g) plan_.shares_units[g] = current[g] * (n / sum);
    } else {
        if (at_high_.empty()) narrow(high);
        if (at_high_.empty()) at_high_ = current;
        double sum_low = 0, sum_high = 0;
        for (std::size_t g = 0; g < current.size(); ++g) {
            sum_low += at_low_[g];
            sum_high += at_high_[g];
        }
        const double part = sum_high > sum_low ? std::clamp((n - sum_low) / (sum_high - sum_low), 0.0, 1.0) : 1;
        for (std::size_t g = 0; g < current.size(); ++g)
            plan_.shares_units[g] = at_low_[g] + part * (at_high_[g] - at_low_[g]);
    }
    plan_.finish_s = t;
    return plan_;
}

}  // namespace

double share_ending_by(const EqualFinishProcessor& processor, double units, double finish_s) {
    const EqualFinishProblem alone{.units = units, .processors = {processor}};
    return Solver(alone).share_ending_by(finish_s);
}

EqualFinishPlan equal_finish(const EqualFinishProblem& problem) { return Solver(problem).solve(); }

}  // namespace apportion
