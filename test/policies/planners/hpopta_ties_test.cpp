// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/hpopta.hpp"

#include <tuple>

#include "test/policies/planners/profiles.hpp"

using namespace apportion;
using namespace profiles;

namespace {

/// Makespan, units moved, second-largest time: what is better is less.
using Order = std::tuple<double, Units, double>;

Order order_of(const PlanProblem& problem, std::span<const Units> shares, std::vector<double> times_s) {
    Units moved = 0;
    for (std::size_t i = 0; i < problem.previous.size(); ++i) moved += std::abs(shares[i] - problem.previous[i]);
    times_s.push_back(0);
    std::sort(times_s.begin(), times_s.end(), std::greater<>());
    return {times_s[0], moved, times_s[1]};
}

/// By trying all distributions; of infinite makespan when there is none.
Order best_order(const PlanProblem& problem, Units units, std::vector<Units>& shares, std::vector<double>& times_s) {
    const std::size_t i = shares.size();
    if (i == problem.processors.size()) return units == 0 ? order_of(problem, shares, times_s) : Order{INFINITY, 0, 0};
    const DiscreteTimes& times = problem.processors[i];
    const auto with = [&](Units share, double seconds) {
        shares.push_back(share);
        times_s.push_back(seconds);
        const Order order = best_order(problem, units - share, shares, times_s);
        shares.pop_back();
        times_s.pop_back();
        return order;
    };
    Order best = with(0, 0);
    for (std::size_t k = 0; k < times.points.size() && times.points[k] <= units; ++k)
        if (allowed(problem, i, times.points[k])) best = std::min(best, with(times.points[k], times.seconds[k]));
    return best;
}

Order best_order(const PlanProblem& problem) {
    std::vector<Units> shares;
    std::vector<double> times_s;
    return best_order(problem, problem.units, shares, times_s);
}

/// Sizes 1 to 100'000 that all take one second.
PlanProblem flat_problem(std::size_t processors) {
    PlanProblem problem;
    for (std::size_t i = 0; i < processors; ++i) {
        DiscreteTimes& times = problem.processors.emplace_back();
        for (Units x = 1; x <= 100'000; ++x) times.points.push_back(x), times.seconds.push_back(1);
    }
    return problem;
}

}  // namespace

TEST_CASE("of the optimal distributions hpopta takes the one that moves least, then the smallest second time") {
    const int shape = GENERATE(range(0, kShapes));
    Generator generator(200 + static_cast<unsigned>(shape));
    int possible = 0, moving = 0;
    for (int instance = 0; instance < 200; ++instance) {
        PlanProblem problem = generator.problem(shape, 3, 20);
        PreparedHpopta prepared(problem);
        for (const bool asked : {false, true}) {
            problem.previous.clear();
            for (std::size_t i = 0; asked && i < problem.processors.size(); ++i)
                problem.previous.push_back(generator.integer(0, problem.units + 3));
            INFO("instance " << instance << ", n = " << problem.units << ", previous " << asked);
            const Order expected = best_order(problem);
            if (!std::isfinite(std::get<0>(expected))) continue;
            const Plan plan = asked ? plan_hpopta(problem) : prepared.plan(problem.units);
            REQUIRE(order_of(problem, plan.shares, plan.times_s) == expected);
            ++possible;
            moving += std::get<1>(expected) > 0;
        }
    }
    CHECK(possible > 60);
    CHECK(moving > 20);
}

TEST_CASE("a distribution that is optimal is kept, however many others are") {
    PlanProblem problem = flat_problem(4);
    problem.previous = {99'000, 1, 0, 50'999};
    problem.units = 150'000;
    CHECK(plan_hpopta(problem).shares == problem.previous);
    problem.units = 150'010;
    const Plan plan = plan_hpopta(problem);
    CHECK(plan.makespan_s == 1);
    CHECK(std::get<1>(order_of(problem, plan.shares, plan.times_s)) == 10);
}

TEST_CASE("where too many distributions are to be compared hpopta still gives an optimal one") {
    PlanProblem problem = flat_problem(4);
    problem.previous = {100'000, 100'000, 0, 0};
    problem.units = 321'001;
    const Plan plan = plan_hpopta(problem);
    require_optimal(problem, problem.units, plan, 1);
}

TEST_CASE("previous shares that make no sense are refused") {
    PlanProblem problem = flat_problem(2);
    problem.units = 5;
    problem.previous = {5};
    CHECK(plan_hpopta(problem).failure == "1 previous shares are given for 2 processors; give one for each");
    problem.previous = {5, -1};
    CHECK(plan_hpopta(problem).failure == "-1 units cannot be a previous share; give a number from 0 to 2^50");
}
