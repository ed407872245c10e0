// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/hpopta.hpp"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <string>

#include "policies/planners/discrete_problem.hpp"
#include "policies/planners/hpopta/hpopta_published.hpp"
#include "policies/planners/hpopta/subset_sum.hpp"
#include "test/catch.hpp"
#include "test/policies/planners/profiles.hpp"
#include "test/published/hpopta.hpp"

using namespace apportion;
using namespace profiles;

namespace {

PlanProblem two_processors(std::vector<Units> sizes_of_first, std::vector<Units> sizes_of_second) {
    PlanProblem problem;
    for (auto& sizes : {sizes_of_first, sizes_of_second}) {
        DiscreteTimes times{"P" + std::to_string(problem.processors.size()), sizes, {}};
        for (const Units x : sizes) times.seconds.push_back(static_cast<double>(x));
        problem.processors.push_back(times);
    }
    return problem;
}

}  // namespace

TEST_CASE("hpopta finds the optimum of the published example") {
    const PlanProblem problem = published_example();
    const Plan plan = plan_hpopta(problem);
    require_optimal(problem, problem.units, plan, published::hpopta::kOptimum.seconds);
    CHECK(plan.shares == std::vector<Units>{8, 8, 0, 0});
}

TEST_CASE("hpopta, prepared or not, and hpopta-published equal a dynamic programme and brute force") {
    const int shape = GENERATE(range(0, kShapes));
    Generator generator(static_cast<unsigned>(shape));
    int impossible = 0, tried = 0;
    for (int instance = 0; instance < 500; ++instance) {
        PlanProblem problem = generator.problem(shape, 6, instance % 10 == 0 ? 120 : 25);
        const std::vector<double> makespans = smallest_makespans(problem, most_units(problem) + 2);
        PreparedHpopta prepared(problem);
        for (int repetition = 0; repetition < 3; ++repetition) {
            problem.units = generator.units(problem);
            INFO("instance " << instance << ", n = " << problem.units);
            const double expected = makespans[static_cast<std::size_t>(problem.units)];
            const Plan cold = plan_hpopta(problem), warm = prepared.plan(problem.units);
            const Plan published = plan_hpopta_published(problem);
            if (problem.processors.size() <= 3 && most_units(problem) <= 75) {
                REQUIRE(brute_force(problem, problem.units) == expected);
                ++tried;
            }
            for (const Plan* plan : {&cold, &warm, &published})
                if (std::isfinite(expected)) {
                    require_optimal(problem, problem.units, *plan, expected);
                } else {
                    require_impossible(problem.units, *plan, makespans);
                }
            REQUIRE(prepared.makespan_s(problem.units) == expected);
            impossible += !std::isfinite(expected);
        }
    }
    CHECK(impossible > 50);
    CHECK(impossible < 1300);
    CHECK(tried > 300);
}

TEST_CASE("hpopta is optimal for identical processors of every shape") {
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
        const Plan plan = plan_hpopta(problem);
        if (std::isfinite(expected)) {
            require_optimal(problem, problem.units, plan, expected);
            ++possible;
        } else {
            require_impossible(problem.units, plan, makespans);
        }
    }
    CHECK(possible > 5);
}

TEST_CASE("unequal shares of identical processors can be faster than equal ones") {
    PlanProblem problem;
    problem.processors.resize(4, {"team", {104, 112, 120, 128}, {1.36, 1.20, 1.49, 1.39}});
    problem.units = 480;
    const Plan plan = plan_hpopta(problem);
    require_optimal(problem, 480, plan, 1.39);
    CHECK(std::count(plan.shares.begin(), plan.shares.end(), 120) == 0);
}

TEST_CASE("hpopta equals a dynamic programme where many units separate the bound from the optimum") {
    const int shape = GENERATE(range(0, kShapes));
    Generator generator(100 + static_cast<unsigned>(shape));
    for (int instance = 0; instance < 4; ++instance) {
        PlanProblem problem = generator.problem(shape, 5, 600);
        const std::vector<double> makespans = smallest_makespans(problem, most_units(problem) + 2);
        for (int repetition = 0; repetition < 10; ++repetition) {
            problem.units = generator.units(problem);
            const double expected = makespans[static_cast<std::size_t>(problem.units)];
            if (std::isfinite(expected)) require_optimal(problem, problem.units, plan_hpopta(problem), expected);
        }
    }
}

TEST_CASE("a processor that only costs time gets nothing") {
    PlanProblem problem = two_processors({1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4, 5, 6, 7, 8});
    for (double& seconds : problem.processors[1].seconds) seconds += 100;
    problem.units = 8;
    CHECK(plan_hpopta(problem).shares == std::vector<Units>{8, 0});
}

TEST_CASE("a number that cannot be distributed is refused with the nearest one that can") {
    PlanProblem problem = two_processors({10, 20}, {10, 25});
    const auto failure = [&](Units units) {
        problem.units = units;
        return plan_hpopta(problem).failure;
    };
    CHECK(failure(46) ==
          "46 units are more than all processors may take; the nearest number that can be distributed is 45");
    CHECK(failure(41) == "no measured sizes add up to 41 units; the nearest number that can be distributed is 45");
    CHECK(failure(23) == "no measured sizes add up to 23 units; the nearest number that can be distributed is 25");
    CHECK(failure(3) == "no measured sizes add up to 3 units; the nearest number that can be distributed is 10");
    CHECK(failure(-1) == "-1 units cannot be distributed; give a number from 0 to 2^50");
    problem.granularity = 5;
    CHECK(failure(33) ==
          "33 units are no multiple of the granularity 5; the nearest number that can be distributed is 35");
    CHECK(failure(1) == "1 unit is no multiple of the granularity 5; the nearest number that can be distributed is 10");
    problem.maximum_units = {10, 10};
    CHECK(failure(30) ==
          "30 units are more than all processors may take; the nearest number that can be distributed is 20");
}

TEST_CASE("settings that make no sense are refused") {
    PlanProblem problem = two_processors({1}, {1});
    problem.granularity = 0;
    CHECK(plan_hpopta(problem).failure == "the granularity is 0; it must be at least 1");
    problem.granularity = 1;
    problem.maximum_units = {1};
    CHECK(plan_hpopta(problem).failure == "1 maxima are given for 2 processors; give one for each");
    CHECK(plan_hpopta({}).failure == "there is no processor");
}

TEST_CASE("a profile that is none is described") {
    PlanProblem problem = two_processors({1, 3, 2}, {1});
    CHECK(why_invalid(problem) == "size 2 of processor 'P0' follows 3; sizes must ascend from 1 on, up to 2^50");
    problem = two_processors({1, 2}, {1, 2});
    CHECK(why_invalid(problem) == "");
    problem.processors[1].seconds[1] = NAN;
    CHECK(why_invalid(problem) == "processor 'P1' takes nan s for 2 units; times must be positive");
    problem.processors[1].seconds.pop_back();
    CHECK(why_invalid(problem) == "processor 'P1' has 2 sizes and 1 time; give one time for each size");
}

TEST_CASE("sizes of billions of units without regularity are added up") {
    PlanProblem problem = two_processors({1'000'000'007, 3'000'000'019, 7'000'000'001}, {2'000'000'011, 5'000'000'029});
    problem.processors.push_back({"P2", {999'999'937, 4'000'000'007}, {1, 2}});
    problem.units = 3'000'000'019 + 2'000'000'011 + 999'999'937;
    const Plan plan = plan_hpopta(problem);
    require_optimal(problem, problem.units, plan, 3'000'000'019);
    problem.units += 1;
    CHECK(plan_hpopta(problem).failure ==
          "no measured sizes add up to 5999999968 units; the nearest number that can be distributed is 5999999967");
}

TEST_CASE("one number from each set adds up to the target exactly when some combination does") {
    Generator generator(3);
    SubsetSum subset_sum;
    int yes = 0, no = 0;
    for (int instance = 0; instance < 2000; ++instance) {
        const Units scale = generator.one_in(3) ? generator.integer(2, 9) : 1, largest = generator.integer(1, 300);
        std::vector<std::vector<Units>> numbers(static_cast<std::size_t>(generator.integer(1, 5)));
        const int density = static_cast<int>(generator.integer(1, 30));
        const Units target = generator.integer(0, 1000);
        std::bitset<3001> sums(1);
        for (auto& set : numbers) {
            set.push_back(0);
            for (Units x = scale; x <= std::min(largest * scale, target); x += scale)
                if (generator.one_in(density)) set.push_back(x);
            std::bitset<3001> next;
            for (const Units x : set) next |= sums << static_cast<std::size_t>(x);
            sums = next;
        }
        const std::vector<NumberSet> sets(numbers.begin(), numbers.end());
        const bool expected = sums[static_cast<std::size_t>(target)];
        std::vector<Units> choice;
        REQUIRE(subset_sum.choose(sets, target) == expected);
        REQUIRE(subset_sum.choose(sets, target, &choice) == expected);
        ++(expected ? yes : no);
        if (expected) {
            Units sum = 0;
            for (std::size_t i = 0; i < sets.size(); ++i) {
                REQUIRE(std::binary_search(sets[i].begin(), sets[i].end(), choice[i]));
                sum += choice[i];
            }
            REQUIRE(sum == target);
        }
        const auto [below, above] = subset_sum.nearest(sets, target);
        Units down = target, up = target + 1;
        while (!sums[static_cast<std::size_t>(down)]) --down;
        while (up <= 3000 && !sums[static_cast<std::size_t>(up)]) ++up;
        REQUIRE(below == down);
        REQUIRE(above.value_or(3001) == up);
    }
    CHECK(yes > 300);
    CHECK(no > 300);
}

TEST_CASE("of very many optimal distributions hpopta gives one") {
    PlanProblem problem;
    problem.units = 321'001;
    for (int i = 0; i < 4; ++i) {
        DiscreteTimes& times = problem.processors.emplace_back();
        for (Units x = 1; x <= 100'000; ++x) times.points.push_back(x), times.seconds.push_back(1);
    }
    require_optimal(problem, problem.units, plan_hpopta(problem), 1);
}
