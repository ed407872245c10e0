// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/smooth_fpm.hpp"

#include <cmath>
#include <vector>

#include "models/speed_trend.hpp"
#include "policies/planners/continuous/continuous.hpp"
#include "policies/planners/hpopta/hpopta.hpp"

namespace apportion {

PlanProblem smoothed(const PlanProblem& problem) {
    PlanProblem smooth = problem;
    const double more = problem.work_power - 1;
    for (DiscreteTimes& times : smooth.processors) {
        std::vector<BlockTime> samples;
        for (std::size_t k = 0; k < times.points.size(); ++k)
            samples.push_back({static_cast<double>(times.points[k]),
                               times.seconds[k] / std::pow(static_cast<double>(times.points[k]), more)});
        const auto trend = SpeedTrend::through(samples);
        if (!trend) continue;
        for (std::size_t k = 0; k < samples.size(); ++k)
            times.seconds[k] = trend->seconds(samples[k].units) * std::pow(samples[k].units, more);
    }
    return smooth;
}

Plan plan_smooth_fpm(const PlanProblem& problem) {
    Plan plan = plan_hpopta(smoothed(problem));
    plan.optimal = false;  // it was for the smoothed times
    if (plan.failure.empty()) ContinuousProblem(problem).finish(plan, std::move(plan.shares));
    return plan;
}

}  // namespace apportion
