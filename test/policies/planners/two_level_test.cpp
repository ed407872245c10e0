// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/two_level.hpp"

#include <cmath>

#include "policies/planners/hpopta/hpopta.hpp"
#include "test/catch.hpp"
#include "test/policies/planners/profiles.hpp"

using namespace apportion;
using namespace profiles;

TEST_CASE("two levels find the makespan of one level over all processors") {
    const int shape = GENERATE(range(0, kShapes));
    Generator generator(50 + static_cast<unsigned>(shape));
    int possible = 0;
    for (int instance = 0; instance < 60; ++instance) {
        const PlanProblem problem = generator.problem(shape, 8, 40);
        std::vector<int> node_of;
        for (std::size_t i = 0; i < problem.processors.size(); ++i)
            node_of.push_back(static_cast<int>(generator.integer(0, 3)));
        const Plan flat = plan_hpopta(problem), two_level = plan_two_level(problem, node_of);
        CHECK(two_level.failure == flat.failure);
        if (flat.failure.empty()) require_optimal(problem, problem.units, two_level, flat.makespan_s);
        possible += flat.failure.empty();
    }
    CHECK(possible > 10);
}

TEST_CASE("a best-time curve has the smallest makespan of every number of units") {
    Generator generator(9);
    for (int instance = 0; instance < 100; ++instance) {
        PlanProblem problem = generator.problem(instance % kShapes, 4, 30);
        problem.granularity = 1;
        problem.maximum_units.clear();
        const Units limit = generator.integer(1, most_units(problem) + 5);
        std::vector<SizeTimes> sizes;
        for (const DiscreteTimes& times : problem.processors) sizes.emplace_back(times.points, times.seconds);
        const DiscreteTimes curve = best_time_curve(sizes, limit);
        const std::vector<double> expected = smallest_makespans(problem, limit);
        std::size_t k = 0;
        for (std::size_t sum = 1; sum < expected.size(); ++sum) {
            if (!std::isfinite(expected[sum])) continue;
            REQUIRE(k < curve.points.size());
            REQUIRE(curve.points[k] == static_cast<Units>(sum));
            REQUIRE(curve.seconds[k++] == expected[sum]);
        }
        REQUIRE(k == curve.points.size());
    }
}

TEST_CASE("nodes are told by the part of the name before the slash") {
    PlanProblem problem = published_example();
    const char* const names[] = {"a/0", "b/0", "a/1", "b/1"};
    for (std::size_t i = 0; i < 4; ++i) problem.processors[i].processor = names[i];
    require_optimal(problem, problem.units, plan_two_level(problem), 1);
}
