// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What every registered planner must do, whatever it optimises.
#include <random>
#include <set>

#include "policies/planners/planner_table.hpp"
#include "test/catch.hpp"

using namespace apportion;

namespace {

/// Planners that accept any size, measured or not.
const std::set<std::string> kContinuous = {"equal", "cpm", "fpm", "fpm-akima", "plb-hec"};

PlanProblem random_problem(unsigned seed, std::size_t processors, Units units, Units granularity) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> speed(10, 1000), noise(0.7, 1);
    PlanProblem problem;
    problem.units = units;
    problem.granularity = granularity;
    for (std::size_t i = 0; i < processors; ++i) {
        DiscreteTimes& times = problem.processors.emplace_back();
        times.processor = "P" + std::to_string(i);
        const double fastest = speed(random), half = 1 + 20 * noise(random);
        for (Units x = 1; x <= 60; ++x) {
            const auto size = static_cast<double>(x);
            times.points.push_back(x);
            times.seconds.push_back(size / (fastest * size / (size + half) * noise(random)));
        }
    }
    return problem;
}

void check_plan(const PlanProblem& problem, const Plan& plan) {
    if (!plan.failure.empty()) {
        CHECK(plan.shares.empty());
        return;
    }
    REQUIRE(plan.shares.size() == problem.processors.size());
    REQUIRE(plan.times_s.size() == problem.processors.size());
    Units sum = 0;
    double makespan_s = 0;
    for (std::size_t i = 0; i < plan.shares.size(); ++i) {
        CHECK(plan.shares[i] >= 0);
        CHECK(plan.shares[i] % problem.granularity == 0);
        if (!problem.maximum_units.empty()) CHECK(plan.shares[i] <= problem.maximum_units[i]);
        CHECK((plan.shares[i] == 0) == (plan.times_s[i] == 0));
        sum += plan.shares[i];
        makespan_s = std::max(makespan_s, plan.times_s[i]);
    }
    CHECK(sum == problem.units);
    CHECK(plan.makespan_s == makespan_s);
    CHECK(plan.lower_bound_s <= plan.makespan_s * (1 + 1e-12));
    if (plan.optimal) CHECK(plan.makespan_s <= plan.lower_bound_s * (1 + 1e-9));
}

}  // namespace

TEST_CASE("every plan sums to n in multiples of the granularity, within the maxima") {
    for (const PlannerEntry& planner : registered_planners())
        for (const std::size_t processors : {1u, 2u, 7u})
            for (const Units granularity : {1, 8})
                for (const Units units : {0, 1, 3, 7, 8, 16, 48, 96, 112, 104})
                    for (const bool bounded : {false, true}) {
                        PlanProblem problem =
                            random_problem(static_cast<unsigned>(units), processors, units, granularity);
                        if (bounded)
                            for (std::size_t i = 0; i < processors; ++i)
                                problem.maximum_units.push_back(9 + 13 * static_cast<Units>(i));
                        CAPTURE(planner.name, processors, granularity, units, bounded);
                        const Plan plan = run_planner(planner, problem);
                        CHECK(plan.algorithm == planner.name);
                        check_plan(problem, plan);
                        Units room = 0;
                        for (const Units most : problem.maximum_units) room += most / granularity * granularity;
                        if (kContinuous.contains(planner.name) && units % granularity == 0 &&
                            (!bounded || units <= room))
                            CHECK(plan.failure == "");
                        if (units % granularity != 0 || (bounded && units > room)) CHECK_FALSE(plan.failure.empty());
                    }
}

TEST_CASE("no units need no time, and one processor takes all") {
    for (const PlannerEntry& planner : registered_planners()) {
        CAPTURE(planner.name);
        const Plan none = run_planner(planner, random_problem(1, 4, 0, 1));
        CHECK(none.shares == std::vector<Units>(4, 0));
        CHECK(none.makespan_s == 0);
        CHECK(none.optimal);
        const Plan all = run_planner(planner, random_problem(1, 1, 42, 1));
        CHECK(all.shares == std::vector<Units>{42});
    }
}

TEST_CASE("huge numbers of units are distributed exactly or refused with a reason") {
    for (const PlannerEntry& planner : registered_planners())
        for (const Units units : {Units{1} << 40, (Units{1} << 53) + 1, kNoLimit}) {
            CAPTURE(planner.name, units);
            const PlanProblem problem = random_problem(3, 5, units, 1);
            const Plan plan = run_planner(planner, problem);
            check_plan(problem, plan);
            if (kContinuous.contains(planner.name)) CHECK(plan.failure == "");
        }
}

TEST_CASE("a processor without measurements gets nothing") {
    for (const char* name : {"equal", "cpm", "fpm", "fpm-akima", "plb-hec"}) {
        PlanProblem problem = random_problem(5, 3, 90, 1);
        problem.processors[1].points.clear();
        problem.processors[1].seconds.clear();
        const Plan plan = run_planner(*find_planner(name), problem);
        CAPTURE(name);
        check_plan(problem, plan);
        CHECK(plan.shares[1] == 0);
    }
}

TEST_CASE("a problem without solution names the nearest number of units that has one") {
    PlanProblem problem = random_problem(5, 3, 1000, 4);
    problem.maximum_units = {10, 20, 31};
    for (const char* name : {"equal", "cpm", "fpm", "fpm-akima", "plb-hec", "imbalance"})
        CHECK(
            run_planner(*find_planner(name), problem).failure ==
            "1000 units are more than all processors may take together; the nearest number that can be distributed is "
            "56");
    problem.units = 51;
    CHECK(run_planner(*find_planner("fpm"), problem).failure ==
          "51 units are no multiple of the granularity 4; the nearest number that can be distributed is 52");
    problem.units = 1;
    CHECK(run_planner(*find_planner("fpm"), problem).failure ==
          "1 unit is no multiple of the granularity 4; the nearest number that can be distributed is 0");
    problem.units = 57;
    CHECK(run_planner(*find_planner("fpm"), problem).failure ==
          "57 units are no multiple of the granularity 4; the nearest number that can be distributed is 56");
    problem.units = -1;
    CHECK_FALSE(run_planner(*find_planner("fpm"), problem).failure.empty());
    problem.units = 4;
    problem.processors.clear();
    problem.maximum_units.clear();
    for (const PlannerEntry& planner : registered_planners())
        CHECK_FALSE(run_planner(planner, problem).failure.empty());
}

TEST_CASE("names of planners are unique and found") {
    std::set<std::string> names;
    for (const PlannerEntry& planner : registered_planners()) {
        CHECK(names.insert(planner.name).second);
        CHECK(find_planner(planner.name) == &planner);
    }
    for (const AssignmentPlannerEntry& planner : registered_assignment_planners())
        CHECK(find_assignment_planner(planner.name) == &planner);
    CHECK(find_planner("nobody") == nullptr);
    CHECK(find_assignment_planner("hpopta") == nullptr);
}
