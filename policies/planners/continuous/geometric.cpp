// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/continuous/geometric.hpp"

#include <algorithm>
#include <limits>

namespace apportion {

GeometricPartition geometric_partition(std::span<const std::optional<PiecewiseLinear>> models, double units,
                                       std::span<const double> limits) {
    GeometricPartition result;
    result.shares.assign(models.size(), 0);
    if (units <= 0) return result;
    auto draw_line = [&](double seconds, std::vector<double>& shares) {
        ++result.lines;
        double sum = 0;
        for (std::size_t i = 0; i < models.size(); ++i) {
            shares[i] = models[i] ? std::min(models[i]->units_within(seconds), limits[i]) : 0;
            sum += shares[i];
        }
        return sum;
    };
    // Between no time at all, and the time in which one could do all alone or everybody is at its limit.
    std::vector<double> few(models.size(), 0), many(models.size(), 0), middle(models.size(), 0);
    double low_s = 0, high_s = 0, alone_s = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < models.size(); ++i) {
        if (!models[i] || limits[i] <= 0) continue;
        const double seconds = models[i]->seconds(std::min(limits[i], units));
        high_s = std::max(high_s, seconds);
        if (limits[i] >= units) alone_s = std::min(alone_s, seconds);
    }
    high_s = std::min(high_s, alone_s);
    double sum_few = 0, sum_many = draw_line(high_s, many);
    if (sum_many < units) {  // the limits just fit or, after rounding, just do not
        result.shares = many;
        result.seconds = high_s;
        return result;
    }
    constexpr int kMostLines = 300;
    while (sum_many - sum_few >= 0.5 && result.lines < kMostLines) {
        // Quick while nothing bounds the steeper line, then bisection.
        const double seconds = low_s > 0 ? (low_s + high_s) / 2 : high_s / 8;
        if (!(seconds > low_s && seconds < high_s)) break;
        const double sum = draw_line(seconds, middle);
        if (sum < units) {
            low_s = seconds, sum_few = sum, few.swap(middle);
        } else {
            high_s = seconds, sum_many = sum, many.swap(middle);
        }
    }
    const double part = sum_many > sum_few ? (units - sum_few) / (sum_many - sum_few) : 1;
    for (std::size_t i = 0; i < models.size(); ++i) result.shares[i] = few[i] + part * (many[i] - few[i]);
    result.seconds = low_s + part * (high_s - low_s);
    return result;
}

Plan plan_fpm(const PlanProblem& problem) {
    const ContinuousProblem continuous(problem);
    Plan plan = continuous.begin();
    if (!plan.failure.empty()) return plan;
    std::vector<std::optional<PiecewiseLinear>> models;
    for (std::size_t i = 0; i < continuous.processors(); ++i)
        models.push_back(PiecewiseLinear::through(continuous.samples(i), PiecewiseLinear::Shape::restricted));
    const std::vector<double> limits(continuous.limits().begin(), continuous.limits().end());
    continuous.finish(plan, continuous.round(geometric_partition(models, continuous.units(), limits).shares));
    return plan;
}

}  // namespace apportion
