// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/continuous/proportional.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/speed_points.hpp"

namespace apportion {

std::vector<double> proportional_shares(std::span<const double> weights, double units, std::span<const double> limits) {
    // In the order in which processors reach their limits when all shares grow in proportion.
    std::vector<std::size_t> order(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order,
                      [&](std::size_t a, std::size_t b) { return limits[a] * weights[b] < limits[b] * weights[a]; });
    std::vector<double> weight_from(order.size() + 1, 0);
    for (std::size_t k = order.size(); k-- > 0;) weight_from[k] = weight_from[k + 1] + weights[order[k]];

    std::vector<double> shares(weights.size(), 0);
    for (std::size_t k = 0; k < order.size() && units > 0 && weight_from[k] > 0; ++k) {
        const std::size_t i = order[k];
        shares[i] = std::min(limits[i], units * weights[i] / weight_from[k]);
        units -= shares[i];
    }
    return shares;
}

namespace {

Plan plan_by_weights(const ContinuousProblem& problem, Plan plan, std::span<const double> weights,
                     ContinuousProblem::Rest rest) {
    const std::vector<double> limits(problem.limits().begin(), problem.limits().end());
    problem.finish(plan, problem.round(proportional_shares(weights, problem.units(), limits), rest));
    return plan;
}

/// CPM, the constant performance model (FuPerMod, section 4): the speed at the measured size nearest to `units` is that
/// of all sizes. Right where the data fit one memory level at every size; elsewhere a share is wrong by as much as the
/// speed changes. 0 without a valid sample.
double constant_speed(std::span<const BlockTime> samples, double units) {
    const std::vector<SpeedPoint> points = speed_points(samples);
    const auto nearest =
        std::ranges::min_element(points, {}, [&](const SpeedPoint& p) { return std::abs(p.units - units); });
    return nearest == points.end() ? 0 : nearest->units_per_s;
}

}  // namespace

Plan plan_equal(const PlanProblem& problem) {
    const ContinuousProblem continuous(problem);
    Plan plan = continuous.begin();
    if (!plan.failure.empty()) return plan;
    return plan_by_weights(continuous, std::move(plan), std::vector<double>(continuous.processors(), 1.0),
                           ContinuousProblem::Rest::one_each);
}

Plan plan_cpm_at(const PlanProblem& problem, double reference_units) {
    const ContinuousProblem continuous(problem);
    Plan plan = continuous.begin();
    if (!plan.failure.empty()) return plan;
    if (reference_units <= 0) reference_units = continuous.units() / static_cast<double>(continuous.processors());
    std::vector<double> speeds;
    for (std::size_t i = 0; i < continuous.processors(); ++i) {
        speeds.push_back(constant_speed(continuous.samples(i), reference_units));
    }
    return plan_by_weights(continuous, std::move(plan), speeds, ContinuousProblem::Rest::whoever_is_first);
}

Plan plan_cpm(const PlanProblem& problem) { return plan_cpm_at(problem, 0); }

}  // namespace apportion
