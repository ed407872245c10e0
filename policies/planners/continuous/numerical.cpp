// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/continuous/numerical.hpp"

#include <algorithm>
#include <limits>

#include "policies/planners/continuous/geometric.hpp"
#include "policies/planners/continuous/proportional.hpp"

namespace apportion {

namespace {

constexpr double kTolerance = 1e-9;  // relative, of the times
constexpr int kMostSteps = 50;
constexpr double kFlattest = 0.1;  // slope of t, relative to t / x

/// Newton's method over the processors that are free: neither left out nor at a limit.
class BalanceEquations {
  public:
    BalanceEquations(std::span<const std::optional<Akima>> models, const std::vector<std::size_t>& free, double units)
        : models_(models), free_(free), units_(units) {}

    /// From `shares` to the solution or, where it is not found, to the shares of the smallest largest time on the way.
    bool solve(std::vector<double>& shares, int& steps) const {
        rescale(shares);
        std::vector<double> best = shares;
        double best_s = std::numeric_limits<double>::infinity();
        for (int step = 0; step < kMostSteps; ++step) {
            const Times times = times_of(shares);
            if (times.slowest_s < best_s) {
                best_s = times.slowest_s;
                best = shares;
            }
            if (times.slowest_s - times.fastest_s <= kTolerance * times.mean_s) return true;
            newton_step(shares, times.mean_s);
            ++steps;
        }
        shares = std::move(best);
        return false;
    }

  private:
    /// Moves the shares towards t_i = T for all with their sum kept. Where t_i falls or is nearly flat, the slope of
    /// the line from the origin stands in for the derivative, so that a share that is early grows until it is late. No
    /// share moves by more than half of itself.
    void newton_step(std::vector<double>& shares, double seconds) const {
        double sum_inverse = 0, sum_step = 0;
        std::vector<double> inverse(free_.size()), step(free_.size());
        for (std::size_t k = 0; k < free_.size(); ++k) {
            const Akima& model = *models_[free_[k]];
            const double share = shares[free_[k]], t = model.seconds(share);
            const double slope = model.derivative(share), chord = t / share;
            inverse[k] = 1 / (slope > kFlattest * chord ? slope : chord);
            step[k] = (seconds - t) * inverse[k];
            sum_inverse += inverse[k];
            sum_step += step[k];
        }
        for (std::size_t k = 0; k < free_.size(); ++k) {
            double& share = shares[free_[k]];
            share += std::clamp(step[k] - sum_step / sum_inverse * inverse[k], -share / 2, share / 2);
        }
        rescale(shares);
    }

    void rescale(std::vector<double>& shares) const {
        double sum = 0;
        for (std::size_t i : free_) sum += shares[i];
        for (std::size_t i : free_) shares[i] *= units_ / sum;
    }

    struct Times {
        double mean_s = 0, slowest_s = 0, fastest_s = std::numeric_limits<double>::infinity();
    };
    Times times_of(const std::vector<double>& shares) const {
        Times times;
        for (std::size_t i : free_) {
            const double seconds = models_[i]->seconds(shares[i]);
            times.mean_s += seconds / static_cast<double>(free_.size());
            times.slowest_s = std::max(times.slowest_s, seconds);
            times.fastest_s = std::min(times.fastest_s, seconds);
        }
        return times;
    }

    std::span<const std::optional<Akima>> models_;
    const std::vector<std::size_t>& free_;
    double units_;  ///< of the free processors
};

double largest_seconds(std::span<const std::optional<Akima>> models, const std::vector<double>& shares) {
    double largest = 0;
    for (std::size_t i = 0; i < shares.size(); ++i)
        if (shares[i] > 0) largest = std::max(largest, models[i]->seconds(shares[i]));
    return largest;
}

}  // namespace

NumericalPartition numerical_partition(std::span<const std::optional<Akima>> models, std::vector<double> start,
                                       double units, std::span<const double> limits) {
    NumericalPartition result;
    result.shares = start;
    result.seconds = largest_seconds(models, start);
    std::vector<double> shares = std::move(start);
    constexpr int kMostRounds = 20;  // each takes processors out that would exceed their limit
    for (int round = 0; round < kMostRounds; ++round) {
        std::vector<std::size_t> free;
        double left = units;
        for (std::size_t i = 0; i < models.size(); ++i) {
            if (models[i] && shares[i] > 0 && shares[i] < limits[i])
                free.push_back(i);
            else
                left -= shares[i];
        }
        if (free.empty() || left <= 0) break;
        const bool converged = BalanceEquations(models, free, left).solve(shares, result.steps);
        bool within = true;
        for (std::size_t i : free)
            if (shares[i] > limits[i]) {
                shares[i] = limits[i];
                within = false;
            }
        if (!within) continue;
        const double largest = largest_seconds(models, shares);
        if (largest <= result.seconds) {
            result.shares = shares;
            result.seconds = largest;
            result.converged = converged;
        }
        break;
    }
    return result;
}

Plan plan_fpm_akima(const PlanProblem& problem) {
    const ContinuousProblem continuous(problem);
    Plan plan = continuous.begin();
    if (!plan.failure.empty()) return plan;
    std::vector<std::optional<PiecewiseLinear>> linear;
    std::vector<std::optional<Akima>> smooth;
    for (std::size_t i = 0; i < continuous.processors(); ++i) {
        linear.push_back(PiecewiseLinear::through(continuous.samples(i), PiecewiseLinear::Shape::restricted));
        smooth.push_back(Akima::through(continuous.samples(i)));
    }
    const std::vector<double> limits(continuous.limits().begin(), continuous.limits().end());
    NumericalPartition best = numerical_partition(
        smooth, geometric_partition(linear, continuous.units(), limits).shares, continuous.units(), limits);
    if (!best.converged) {
        // Where times fall and rise, the equations may have no solution near the first start.
        std::vector<double> speeds;
        for (const auto& model : smooth)
            speeds.push_back(model ? model->speed(continuous.units() / static_cast<double>(smooth.size())) : 0);
        NumericalPartition second = numerical_partition(smooth, proportional_shares(speeds, continuous.units(), limits),
                                                        continuous.units(), limits);
        if (second.seconds < best.seconds) best = std::move(second);
    }
    continuous.finish(plan, continuous.round(best.shares));
    return plan;
}

}  // namespace apportion
