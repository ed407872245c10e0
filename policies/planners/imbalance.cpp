// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/imbalance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/io/text.hpp"
#include "policies/planners/continuous/continuous.hpp"

namespace apportion {

namespace {

/// Mean time at every size that all processors have measured and may take.
std::map<Units, double> mean_times(const PlanProblem& problem) {
    struct Sum {
        double seconds = 0;
        std::size_t processors = 0;
    };
    std::map<Units, Sum> sums;
    for (std::size_t i = 0; i < problem.processors.size(); ++i) {
        const DiscreteTimes& times = problem.processors[i];
        for (std::size_t k = 0; k < times.points.size(); ++k) {
            if (!problem.maximum_units.empty() && times.points[k] > problem.maximum_units[i]) continue;
            Sum& sum = sums[times.points[k]];
            sum.seconds += times.seconds[k];
            ++sum.processors;
        }
    }
    std::map<Units, double> means;
    for (const auto& [units, sum] : sums)
        if (sum.processors == problem.processors.size())
            means[units] = sum.seconds / static_cast<double>(sum.processors);
    return means;
}

/// Which number of units near that of the problem has equal shares that are measured.
std::string nearest_balanced(const std::map<Units, double>& means, const PlanProblem& problem) {
    const auto processors = static_cast<Units>(problem.processors.size());
    Units nearest = 0;
    for (const auto& [units, seconds] : means)
        if (units % problem.granularity == 0 && units <= kNoLimit / processors &&
            (nearest == 0 || std::abs(units * processors - problem.units) < std::abs(nearest - problem.units)))
            nearest = units * processors;
    if (nearest == 0) return "no such size is measured on all of them";
    return fmt::format("the nearest number that can be distributed is {}", nearest);
}

}  // namespace

std::vector<Units> team_shares(std::size_t processors, Units balanced, Units offset) {
    std::vector<Units> shares(processors, balanced);
    for (std::size_t i = 0; i + 1 < shares.size(); i += 2) {
        shares[i] -= offset;
        shares[i + 1] += offset;
    }
    return shares;
}

Plan plan_imbalance(const PlanProblem& problem) {
    const ContinuousProblem continuous(problem);
    Plan plan = continuous.begin();
    if (!plan.failure.empty()) return plan;
    const auto processors = static_cast<Units>(problem.processors.size());
    if (problem.units == 0) {
        continuous.finish(plan, std::vector<Units>(problem.processors.size(), 0));
        return plan;
    }
    const std::map<Units, double> times = mean_times(problem);
    const Units balanced = problem.units / processors;
    if (problem.units % (processors * problem.granularity) != 0 || !times.contains(balanced)) {
        plan.failure = fmt::format(
            "imbalance starts from equal shares, which {} on {} do not give at a measured size; {}",
            counted(problem.units, "unit"), counted(processors, "processor"), nearest_balanced(times, problem));
        return plan;
    }
    // Steps to sizes that are not measured are left out, so the loop runs over the measured ones.
    Units offset = 0;
    double best_s = times.at(balanced);
    for (auto right = times.upper_bound(balanced); processors > 1 && right != times.end(); ++right) {
        const Units step = right->first - balanced;
        if (step > balanced) break;
        const auto left = times.find(balanced - step);
        if (step % problem.granularity != 0 || (step < balanced && left == times.end())) continue;
        const double seconds = std::max(right->second, step < balanced ? left->second : 0);
        if (seconds < best_s) {
            best_s = seconds;
            offset = step;
        }
    }
    continuous.finish(plan, team_shares(problem.processors.size(), balanced, offset));
    return plan;
}

}  // namespace apportion
