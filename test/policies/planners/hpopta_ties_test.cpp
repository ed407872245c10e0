// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/hpopta.hpp"
#include "test/policies/planners/profiles.hpp"

using namespace apportion;
using namespace profiles;

namespace {

/// Makespan and second-largest time: what is better is less.
using Order = std::pair<double, double>;

Order order_of(std::vector<double> times_s) {
    times_s.resize(times_s.size() + 2);
    std::sort(times_s.begin(), times_s.end(), std::greater<>());
    return {times_s[0], times_s[1]};
}

/// By trying all distributions over the processors behind those that have a time; of infinite makespan when there is
/// none.
Order best_order(const PlanProblem& problem, Units units, std::vector<double>& times_s) {
    const std::size_t i = times_s.size();
    if (i == problem.processors.size()) return units == 0 ? order_of(times_s) : Order{INFINITY, 0};
    const DiscreteTimes& times = problem.processors[i];
    const auto with = [&](Units share, double seconds) {
        times_s.push_back(seconds);
        const Order order = best_order(problem, units - share, times_s);
        times_s.pop_back();
        return order;
    };
    Order best = with(0, 0);
    for (std::size_t k = 0; k < times.points.size() && times.points[k] <= units; ++k)
        if (allowed(problem, i, times.points[k])) best = std::min(best, with(times.points[k], times.seconds[k]));
    return best;
}

}  // namespace

TEST_CASE("of the optimal distributions hpopta takes one whose second-largest time is smallest") {
    const int shape = GENERATE(range(0, kShapes));
    Generator generator(200 + static_cast<unsigned>(shape));
    int possible = 0;
    for (int instance = 0; instance < 200; ++instance) {
        const PlanProblem problem = generator.problem(shape, 3, 20);
        INFO("instance " << instance << ", n = " << problem.units);
        std::vector<double> times_s;
        const Order expected = best_order(problem, problem.units, times_s);
        if (!std::isfinite(expected.first)) continue;
        REQUIRE(order_of(plan_hpopta(problem).times_s) == expected);
        REQUIRE(order_of(PreparedHpopta(problem).plan(problem.units).times_s) == expected);
        ++possible;
    }
    CHECK(possible > 30);
}

TEST_CASE(
    "each distribution that is compared is looked for among all sizes, not among those that the one before left") {
    PlanProblem problem;
    problem.units = 13;
    problem.processors = {{"", {1, 2, 3, 4, 5, 6}, {1, 7, 8, 8, 3, 1}},
                          {"", {1, 2, 4, 5, 6}, {4, 5, 4, 4, 8}},
                          {"", {1, 2, 3, 4, 5, 6}, {1, 2, 5, 1, 4, 5}}};
    CHECK(order_of(plan_hpopta(problem).times_s) == Order{4, 2});
}

TEST_CASE("where too many distributions are to be compared hpopta still gives an optimal one") {
    PlanProblem problem;
    problem.units = 321'001;
    for (int i = 0; i < 4; ++i) {
        DiscreteTimes& times = problem.processors.emplace_back();
        for (Units x = 1; x <= 100'000; ++x) times.points.push_back(x), times.seconds.push_back(1);
    }
    require_optimal(problem, problem.units, plan_hpopta(problem), 1);
}
