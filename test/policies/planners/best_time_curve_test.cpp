// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/best_time_curve.hpp"

#include <cmath>

#include "test/catch.hpp"
#include "test/policies/planners/profiles.hpp"

using namespace apportion;
using namespace profiles;

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
