// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/popta.hpp"

#include <algorithm>
#include <cmath>

#include "policies/planners/hpopta/hpopta.hpp"
#include "test/catch.hpp"
#include "test/policies/planners/profiles.hpp"

using namespace apportion;
using namespace profiles;

TEST_CASE("popta as published and hpopta are optimal for identical processors of every shape") {
    const int shape = GENERATE(range(0, kShapes));
    Generator generator(static_cast<unsigned>(shape));
    int possible = 0;
    for (int instance = 0; instance < 60; ++instance) {
        PlanProblem problem = generator.problem(shape, 1, 60);
        const auto copies = static_cast<std::size_t>(generator.integer(1, 8));
        problem.processors.resize(copies, problem.processors[0]);
        if (!problem.maximum_units.empty()) problem.maximum_units.resize(copies, problem.maximum_units[0]);
        const std::vector<double> makespans = smallest_makespans(problem, most_units(problem) + 2);
        problem.units = generator.units(problem);
        const double expected = makespans[static_cast<std::size_t>(problem.units)];
        for (const Plan& plan : {plan_hpopta(problem), plan_popta_published(problem)}) {
            if (std::isfinite(expected)) {
                require_optimal(problem, problem.units, plan, expected);
                ++possible;
            } else {
                require_impossible(problem.units, plan, makespans);
            }
        }
    }
    CHECK(possible > 10);
}

TEST_CASE("unequal shares of identical processors can be faster than equal ones") {
    PlanProblem problem;
    problem.processors.resize(4, {"team", {104, 112, 120, 128}, {1.36, 1.20, 1.49, 1.39}});
    problem.units = 480;
    const Plan plan = plan_popta_published(problem);
    require_optimal(problem, 480, plan, 1.39);
    CHECK(std::count(plan.shares.begin(), plan.shares.end(), 120) == 0);
}

TEST_CASE("popta refuses processors that are not identical") {
    PlanProblem problem;
    problem.processors.resize(2, {"A", {1, 2}, {1, 2}});
    problem.processors[1].processor = "B";
    problem.units = 2;
    problem.processors[1].seconds[1] = 3;
    CHECK(plan_popta_published(problem).failure ==
          "popta-published plans identical processors, but 'A' and 'B' differ in their times; use hpopta");
    problem.processors[1] = {"B", {1, 3}, {1, 2}};
    CHECK(plan_popta_published(problem).failure ==
          "popta-published plans identical processors, but 'A' and 'B' differ in their sizes; use hpopta");
    problem.processors[1] = problem.processors[0];
    problem.maximum_units = {1, 2};
    CHECK(plan_popta_published(problem).failure ==
          "popta-published plans identical processors, but 'A' and 'A' differ in their maxima; use hpopta");
}

TEST_CASE("popta as published refuses a number of units that its memory cannot hold") {
    PlanProblem problem;
    problem.processors.resize(4, {"team", {1'000'000'000}, {1}});
    problem.units = 4'000'000'000;
    CHECK(plan_popta_published(problem).failure ==
          "popta-published would need a memory of 20000 million cells for 4000000000 units; use hpopta or a coarser "
          "granularity");
    problem.granularity = 1'000'000'000;
    require_optimal(problem, problem.units, plan_popta_published(problem), 1);
}
