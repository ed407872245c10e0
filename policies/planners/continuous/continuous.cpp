// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/continuous/continuous.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <tuple>

namespace apportion {

namespace {

Units limit_of(const PlanProblem& problem, std::size_t processor) {
    if (problem.processors[processor].points.empty()) return 0;
    const Units most = problem.maximum_units.empty() ? problem.units : problem.maximum_units[processor];
    return std::min(std::max<Units>(most, 0), problem.units) / problem.granularity * problem.granularity;
}

/// Sum of all maxima, cut off at the largest number there is.
Units total_capacity(const PlanProblem& problem) {
    Units sum = 0;
    for (std::size_t i = 0; i < problem.processors.size(); ++i) {
        if (problem.processors[i].points.empty()) continue;
        const Units most = problem.maximum_units.empty() ? kNoLimit : std::max<Units>(problem.maximum_units[i], 0);
        const Units whole = most / problem.granularity * problem.granularity;
        if (whole > kNoLimit - sum) return kNoLimit;
        sum += whole;
    }
    return sum;
}

}  // namespace

std::string why_impossible(const PlanProblem& problem) {
    if (problem.units < 0)
        return fmt::format("{} units cannot be distributed; give a number that is at least 0", problem.units);
    if (problem.granularity < 1)
        return fmt::format("the granularity is {}; it must be at least 1", problem.granularity);
    if (!problem.maximum_units.empty() && problem.maximum_units.size() != problem.processors.size())
        return "the maxima must be as many as the processors";
    return why_not_whole(problem.units, problem.granularity, total_capacity(problem),
                         {"unit", "all processors may take", "distributed"});
}

ContinuousProblem::ContinuousProblem(const PlanProblem& problem) : problem_(problem) {
    if (!why_impossible(problem).empty()) return;
    for (std::size_t i = 0; i < problem.processors.size(); ++i) {
        const DiscreteTimes& times = problem.processors[i];
        limits_.push_back(limit_of(problem, i));
        std::vector<BlockTime>& samples = samples_.emplace_back(times.points.size());
        for (std::size_t k = 0; k < samples.size(); ++k)
            samples[k] = {static_cast<double>(times.points[k]), times.seconds[k]};
        measured_.push_back(PiecewiseLinear::through(samples, PiecewiseLinear::Shape::as_measured));
    }
}

Plan ContinuousProblem::begin() const {
    Plan plan;
    plan.failure = why_impossible(problem_);
    return plan;
}

double ContinuousProblem::measured_seconds(std::size_t processor, double units) const {
    return units > 0 ? measured_[processor]->seconds(units) : 0;
}

std::vector<Units> ContinuousProblem::round(std::span<const double> shares, Rest rest) const {
    const Units g = problem_.granularity;
    std::vector<Units> whole(shares.size());
    Units left = problem_.units;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const double share = shares[i] > 0 ? shares[i] * (1 + 1e-12) : 0;  // 3.9999999999 is 4
        const auto limit = static_cast<double>(limits_[i]);
        whole[i] = share >= limit ? limits_[i] : std::min(limits_[i], static_cast<Units>(share) / g * g);
        whole[i] = std::min(whole[i], left);
        left -= whole[i];
    }
    // Shares far from a sum of n: most of the rest at once, evenly.
    for (auto count = static_cast<Units>(shares.size()); count > 0 && left / g > count;) {
        const Units each = left / g / count * g;
        for (std::size_t i = 0; i < shares.size() && left > 0; ++i) {
            const Units more = std::min({each, limits_[i] - whole[i], left});
            whole[i] += more;
            left -= more;
        }
    }
    using Candidate = std::tuple<int, double, std::size_t>;  // granules that count, seconds with one more, processor
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> next;
    auto offer = [&](std::size_t i, int taken) {
        if (whole[i] < limits_[i]) next.emplace(taken, measured_seconds(i, static_cast<double>(whole[i] + g)), i);
    };
    for (std::size_t i = 0; i < shares.size() && left > 0; ++i) offer(i, 0);
    for (; left > 0; left -= g) {
        const auto [taken, seconds, i] = next.top();
        next.pop();
        whole[i] += g;
        offer(i, rest == Rest::one_each ? taken + 1 : 0);
    }
    return whole;
}

double ContinuousProblem::largest_speed(std::size_t processor) const {
    const auto limit = static_cast<double>(limits_[processor]);
    if (limit <= 0) return 0;
    double fastest = measured_[processor]->speed(limit);
    for (const SpeedPoint& point : measured_[processor]->points())
        if (point.units <= limit) fastest = std::max(fastest, point.units_per_s);
    return fastest;
}

void ContinuousProblem::finish(Plan& plan, std::vector<Units> shares) const {
    plan.shares = std::move(shares);
    plan.times_s.clear();
    plan.makespan_s = 0;
    double speed = 0;
    for (std::size_t i = 0; i < plan.shares.size(); ++i) {
        plan.times_s.push_back(measured_seconds(i, static_cast<double>(plan.shares[i])));
        plan.makespan_s = std::max(plan.makespan_s, plan.times_s.back());
        speed += largest_speed(i);
    }
    plan.lower_bound_s = speed > 0 ? std::min(units() / speed, plan.makespan_s) : 0;
    plan.optimal = plan.makespan_s <= plan.lower_bound_s * (1 + 1e-12);
}

}  // namespace apportion
