// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/smooth_fpm.hpp"

#include <algorithm>
#include <cmath>

#include "policies/planners/hpopta/hpopta.hpp"
#include "test/catch.hpp"
#include "test/policies/planners/profiles.hpp"

using namespace apportion;
using namespace profiles;

namespace {

PlanProblem two_processors(double height) {
    PlanProblem problem;
    problem.units = 120;
    for (int i = 0; i < 2; ++i) {
        DiscreteTimes& times = problem.processors.emplace_back();
        for (Units x = 1; x <= 100; ++x) {
            const double speed = 10 * (i + 1) + 0.1 * static_cast<double>(x);
            times.points.push_back(x);
            times.seconds.push_back(static_cast<double>(x) / speed * (x % 8 == 0 ? 1 : 1 + height));
        }
    }
    return problem;
}

}  // namespace

TEST_CASE("on smooth profiles smooth-fpm is as fast as hpopta") {
    const PlanProblem problem = two_processors(0);
    CHECK(plan_smooth_fpm(problem).makespan_s == Approx(plan_hpopta(problem).makespan_s));
}

TEST_CASE("on rough profiles smooth-fpm takes hpopta's shares for the trend and their measured times") {
    const PlanProblem problem = two_processors(0.5), smooth = smoothed(problem);
    for (std::size_t i = 0; i < 2; ++i) {  // the teeth are gone
        const std::vector<double>& seconds = smooth.processors[i].seconds;
        CHECK(std::is_sorted(seconds.begin(), seconds.end()));
    }
    const Plan plan = plan_smooth_fpm(problem);
    CHECK(plan.shares == plan_hpopta(smooth).shares);
    CHECK(plan.shares[0] + plan.shares[1] == 120);
    for (std::size_t i = 0; i < 2; ++i)
        CHECK(plan.times_s[i] == Approx(problem.processors[i].seconds[static_cast<std::size_t>(plan.shares[i]) - 1]));
    CHECK_FALSE(plan.optimal);
}

TEST_CASE("smooth-fpm smooths the speed of the work that the problem tells") {
    PlanProblem problem = two_processors(0.5);
    for (DiscreteTimes& times : problem.processors)  // x by x by x
        for (std::size_t k = 0; k < times.points.size(); ++k)
            times.seconds[k] *= std::pow(static_cast<double>(times.points[k]), 2);
    PlanProblem cubes = problem;
    cubes.work_power = 3;
    CHECK(plan_smooth_fpm(cubes).shares == plan_hpopta(smoothed(cubes)).shares);
    for (std::size_t k = 0; k < 100; ++k) {
        const double x = static_cast<double>(k + 1);
        CHECK(smoothed(cubes).processors[0].seconds[k] ==
              Approx(smoothed(two_processors(0.5)).processors[0].seconds[k] * x * x));
    }
    CHECK(smoothed(problem).processors[0].seconds != smoothed(cubes).processors[0].seconds);
}

TEST_CASE("smooth-fpm misses the sizes that are fast") {
    double largest_ratio = 0;
    for (Units units = 80; units <= 160; units += 8) {
        PlanProblem problem = two_processors(0.5);
        problem.units = units;
        const double ratio = plan_smooth_fpm(problem).makespan_s / plan_hpopta(problem).makespan_s;
        CHECK(ratio >= 1 - 1e-12);
        largest_ratio = std::max(largest_ratio, ratio);
    }
    CHECK(largest_ratio > 1.2);
}

TEST_CASE("smooth-fpm takes measured sizes only and refuses what hpopta refuses") {
    Generator generator(11);
    for (int instance = 0; instance < 300; ++instance) {
        const PlanProblem problem = generator.problem(instance % kShapes, 4, 25);
        const Plan plan = plan_smooth_fpm(problem), optimal = plan_hpopta(problem);
        REQUIRE(plan.failure == optimal.failure);
        if (!plan.failure.empty()) continue;
        REQUIRE(plan.makespan_s >= optimal.makespan_s * (1 - 1e-12));
        for (std::size_t i = 0; i < plan.shares.size(); ++i) {
            const auto& points = problem.processors[i].points;
            REQUIRE((plan.shares[i] == 0 || std::binary_search(points.begin(), points.end(), plan.shares[i])));
        }
    }
}
