// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/balance_condition.hpp"

#include <algorithm>
#include <cmath>

#include "policies/planners/hpopta/hpopta.hpp"
#include "test/catch.hpp"
#include "test/policies/planners/profiles.hpp"

using namespace apportion;
using namespace profiles;

TEST_CASE("times that never fall satisfy the condition, and equal shares of identical processors are then optimal") {
    PlanProblem problem;
    problem.processors.resize(3, {"P", {1, 2, 3, 4, 5}, {1, 2, 2, 5, 7}});
    CHECK(check_balance_condition(problem.processors[0]).holds());
    for (const Units share : {1, 2, 3, 4, 5}) {
        problem.units = 3 * share;
        CHECK(plan_hpopta(problem).makespan_s == problem.processors[0].seconds[static_cast<std::size_t>(share) - 1]);
    }
}

TEST_CASE("a violation is counted and the worst pair of sizes named") {
    const BalanceCondition condition = check_balance_condition({"P", {8, 16, 24, 32, 40}, {1, 9, 6, 3, 4}});
    CHECK_FALSE(condition.holds());
    CHECK(condition.sizes == 5);
    CHECK(condition.violated == 2);
    CHECK(condition.smaller == 16);
    CHECK(condition.smaller_s == 9);
    CHECK(condition.larger == 32);
    CHECK(condition.larger_s == 3);
}

TEST_CASE("the condition is checked as defined: some larger size takes less time") {
    Generator generator(4);
    for (int instance = 0; instance < 300; ++instance)
        for (const DiscreteTimes& times : generator.problem(instance % kShapes, 4, 30).processors) {
            std::size_t violated = 0;
            double worst = 1;
            for (std::size_t k = 0; k < times.points.size(); ++k) {
                double fastest = INFINITY;
                for (std::size_t j = k + 1; j < times.points.size(); ++j) fastest = std::min(fastest, times.seconds[j]);
                violated += times.seconds[k] > fastest;
                worst = std::max(worst, times.seconds[k] / fastest);
            }
            const BalanceCondition condition = check_balance_condition(times);
            REQUIRE(condition.violated == violated);
            if (violated > 0) REQUIRE(condition.smaller_s / condition.larger_s == Approx(worst));
        }
}

TEST_CASE("an empty profile violates nothing") { CHECK(check_balance_condition(DiscreteTimes{}).holds()); }
