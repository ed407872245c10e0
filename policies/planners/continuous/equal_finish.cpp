// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/continuous/equal_finish.hpp"

#include <algorithm>
#include <cmath>

namespace apportion {

namespace {

constexpr double kTolerance = 1e-9;  // relative, of shares and of T
constexpr int kMostSteps = 200;

/// The largest share that finishes by some T, between two shares that are known to do and not to do so.
struct Bracket {
    double low = 0;
    double high = 0;
};

class Solver {
  public:
    explicit Solver(const EqualFinishProblem& problem) : problem_(problem), at_low_(problem.processors.size()) {}
    EqualFinishPlan solve();
    double share_ending_by(double finish_s) { return share(0, finish_s, {0, bound(problem_.processors[0])}); }

  private:
    double bound(const EqualFinishProcessor& p) const { return std::min(p.maximum_units, problem_.units); }
    double share(std::size_t g, double finish_s, Bracket bracket);
    double shares(double finish_s, std::vector<double>& out, double& slope);

    const EqualFinishProblem& problem_;
    std::vector<double> at_low_, at_high_;
    EqualFinishPlan plan_;
};

double Solver::share(std::size_t g, double finish_s, Bracket bracket) {
    const EqualFinishProcessor& p = problem_.processors[g];
    const double budget_s = finish_s - p.busy_until_s;
    const auto late = [&](double x) { return p.time->seconds(x) - budget_s; };
    if (budget_s <= 0 || bracket.high <= 0) return 0;
    double x = bracket.high;
    double excess_s = late(x);
    if (excess_s <= 0) return x;
    if (bracket.low <= 0 && late(0) >= 0) return 0;  // not even the fixed part of E fits
    const double width = kTolerance * problem_.units * 1e-2;
    for (int step = 0; step < kMostSteps && bracket.high - bracket.low > width; ++step) {
        const double slope = p.time->derivative(x);
        double next = x - excess_s / slope;
        // Newton from the late side; bisection when it leaves the bracket or when it has been slow (a jump).
        if (!(next > bracket.low && next < bracket.high) || step % 8 == 7) next = (bracket.low + bracket.high) / 2;
        const bool settled = std::abs(next - x) <= kTolerance * problem_.units * 1e-2;
        x = next;
        excess_s = late(x);
        (excess_s <= 0 ? bracket.low : bracket.high) = x;
        if (settled && std::abs(excess_s) <= kTolerance * finish_s) return x;
    }
    return bracket.low;
}

/// Fills in the shares that finish by T and returns their sum; `slope` is its derivative.
double Solver::shares(double finish_s, std::vector<double>& out, double& slope) {
    double sum = 0;
    slope = 0;
    for (std::size_t g = 0; g < problem_.processors.size(); ++g) {
        const EqualFinishProcessor& p = problem_.processors[g];
        const double most = at_high_.empty() ? bound(p) : at_high_[g];
        out[g] = share(g, finish_s, {at_low_[g], most});
        sum += out[g];
        if (out[g] > 0 && out[g] < bound(p)) {
            const double seconds_per_unit = p.time->derivative(out[g]);
            if (seconds_per_unit > 0) slope += 1 / seconds_per_unit;
        }
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
    if (room < n * (1 - kTolerance)) {
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
        t = finish_s;
        sum = shares(t, current, slope);
        (sum >= n ? high : low) = t;
        (sum >= n ? at_high_ : at_low_) = current;
    };
    const double expected_s = problem_.expected_finish_s;
    narrow(expected_s > low && expected_s < high ? expected_s : high);
    // Newton on T, bisection where it fails; brackets of T bracket the shares as well.
    const auto found = [&] { return std::abs(sum - n) <= kTolerance * n; };
    for (int step = 0; step < kMostSteps && !found() && high - low > kTolerance * 1e-2 * high; ++step) {
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
