// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The planners with continuous models on profiles whose best distribution is known in closed form.
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "policies/planners/continuous/geometric.hpp"
#include "policies/planners/continuous/numerical.hpp"
#include "policies/planners/continuous/plb_hec.hpp"
#include "policies/planners/continuous/proportional.hpp"
#include "test/catch.hpp"

using namespace apportion;

namespace {

using Seconds = std::function<double(double)>;

PlanProblem problem_of(const std::vector<Seconds>& functions, Units units, Units largest, Units step) {
    PlanProblem problem;
    problem.units = units;
    for (const Seconds& seconds : functions) {
        DiscreteTimes& times = problem.processors.emplace_back();
        times.processor = "P" + std::to_string(problem.processors.size());
        for (Units x = step; x <= largest; x += step) {
            times.points.push_back(x);
            times.seconds.push_back(seconds(static_cast<double>(x)));
        }
    }
    return problem;
}

std::vector<BlockTime> samples_of(const Seconds& seconds, double largest, double step) {
    std::vector<BlockTime> samples;
    for (double x = step; x <= largest; x += step) samples.push_back({x, seconds(x)});
    return samples;
}

/// Fixed part and slope.
Seconds line(double fixed_s, double slope_s) {
    return [=](double x) { return fixed_s + slope_s * x; };
}

}  // namespace

TEST_CASE("constant speeds are shared in proportion by every planner that knows speeds") {
    const PlanProblem problem = problem_of({line(0, 1.0), line(0, 0.5), line(0, 0.25)}, 700, 1000, 10);
    for (const Plan& plan : {plan_cpm(problem), plan_fpm(problem), plan_fpm_akima(problem), plan_plb_hec(problem)}) {
        CAPTURE(plan.algorithm);
        CHECK(plan.shares == std::vector<Units>{100, 200, 400});
        CHECK(plan.makespan_s == Approx(100));
        CHECK(plan.lower_bound_s == Approx(100));
    }
    CHECK(plan_equal(problem).shares == std::vector<Units>{233, 233, 234});
}

TEST_CASE("granules that rounding leaves go where they end first, and nobody gets two of equal shares") {
    // A granule takes the slow ones 10 s and the fast one 0.1 s; to balance, each of the slow ones would do 1.2.
    std::vector<Seconds> functions(20, line(0, 0.1));
    functions.push_back(line(0, 0.001));
    PlanProblem problem = problem_of(functions, 14400, 20000, 100);
    problem.granularity = 100;
    for (const Plan& plan : {plan_cpm(problem), plan_fpm(problem), plan_fpm_akima(problem), plan_plb_hec(problem)}) {
        CAPTURE(plan.algorithm);
        CHECK(plan.makespan_s == Approx(12.4));
        CHECK(plan.shares == std::vector<Units>{100, 100, 100, 100, 100, 100, 100, 100, 100, 100,  100,
                                                100, 100, 100, 100, 100, 100, 100, 100, 100, 12400});
    }
    problem.units = 2300;
    CHECK(plan_equal(problem).shares == std::vector<Units>{200, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100,
                                                           100, 100, 100, 100, 100, 100, 100, 100, 100, 200});
}

TEST_CASE("the reference size decides what the constant model thinks") {
    // Fast below 100 units, then three times slower.
    const auto paging = [](double x) { return x <= 100 ? x / 30 : x / 10; };
    const PlanProblem problem = problem_of({paging, line(0, 0.1)}, 400, 400, 20);
    CHECK(plan_cpm_at(problem, 20).shares == std::vector<Units>{300, 100});
    CHECK(plan_cpm_at(problem, 400).shares == std::vector<Units>{200, 200});
    CHECK(plan_cpm(problem).shares == std::vector<Units>{200, 200});
}

TEST_CASE("shares in proportion respect limits, which others take over in proportion") {
    const std::vector<double> weights = {1, 2, 3, 0}, limits = {100, 10, 1000, 1000};
    const std::vector<double> shares = proportional_shares(weights, 90, limits);
    CHECK(shares[0] == Approx(20));
    CHECK(shares[1] == Approx(10));
    CHECK(shares[2] == Approx(60));
    CHECK(shares[3] == 0);
}

TEST_CASE("lines through the origin find the balanced distribution of affine times") {
    // t_i = a_i + b_i x: T = (n + sum a / b) / sum 1 / b, in units of the first processor's measured range.
    const std::vector<double> a = {2, 5, 1}, b = {0.3, 0.05, 0.2};
    std::vector<Seconds> functions;
    double sum_ratio = 0, sum_inverse = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        functions.push_back(line(a[i], b[i]));
        sum_ratio += a[i] / b[i];
        sum_inverse += 1 / b[i];
    }
    const PlanProblem problem = problem_of(functions, 3000, 3000, 1);
    const double finish_s = (3000 + sum_ratio) / sum_inverse;
    for (const Plan& plan : {plan_fpm(problem), plan_fpm_akima(problem), plan_plb_hec(problem)}) {
        CAPTURE(plan.algorithm);
        CHECK(plan.makespan_s == Approx(finish_s).epsilon(2e-3));
        for (std::size_t i = 0; i < a.size(); ++i)
            CHECK(std::abs(static_cast<double>(plan.shares[i]) - (finish_s - a[i]) / b[i]) <= 1.5);
    }
}

TEST_CASE("the geometrical algorithm balances random restricted functions to a unit") {
    for (unsigned seed = 0; seed < 100; ++seed) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> speed(1, 100);
        std::vector<std::optional<PiecewiseLinear>> models;
        for (int i = 0; i < 5; ++i) {
            std::vector<BlockTime> samples;
            for (int k = 1; k <= 30; ++k) samples.push_back({20.0 * k, 20.0 * k / speed(random)});
            models.push_back(PiecewiseLinear::through(samples, PiecewiseLinear::Shape::restricted));
        }
        const std::vector<double> limits(5, 1e9);
        const GeometricPartition partition = geometric_partition(models, 1500, limits);
        CAPTURE(seed);
        CHECK(std::accumulate(partition.shares.begin(), partition.shares.end(), 0.0) == Approx(1500));
        for (std::size_t i = 0; i < 5; ++i)
            CHECK(std::abs(models[i]->units_within(partition.seconds) - partition.shares[i]) < 1);
        CHECK(partition.lines < 40);
    }
}

TEST_CASE("a processor at its limit leaves the balance to the others") {
    PlanProblem problem = problem_of({line(0, 1), line(0, 1), line(0, 0.1)}, 300, 400, 10);
    problem.maximum_units = {kNoLimit, kNoLimit, 100};
    for (const Plan& plan : {plan_cpm(problem), plan_fpm(problem), plan_fpm_akima(problem), plan_plb_hec(problem)}) {
        CAPTURE(plan.algorithm);
        CHECK(plan.shares == std::vector<Units>{100, 100, 100});
    }
}

TEST_CASE("Newton's method solves the balance equations of smooth, non-monotone speeds to 1e-9") {
    const Seconds wave = [](double x) { return x / (50 + 20 * std::sin(x / 300)); };
    const Seconds ramp = [](double x) { return x / (200 * x / (x + 400)); };
    const Seconds drop = [](double x) { return x / (90 - 0.02 * x); };
    std::vector<std::optional<Akima>> models;
    std::vector<std::optional<PiecewiseLinear>> linear;
    for (const Seconds& seconds : {wave, ramp, drop}) {
        models.push_back(Akima::through(samples_of(seconds, 2000, 10)));
        linear.push_back(PiecewiseLinear::through(samples_of(seconds, 2000, 10), PiecewiseLinear::Shape::restricted));
    }
    const std::vector<double> limits(3, 2000);
    const GeometricPartition start = geometric_partition(linear, 1800, limits);
    const NumericalPartition partition = numerical_partition(models, start.shares, 1800, limits);
    CHECK(partition.converged);
    CHECK(partition.steps < 15);
    CHECK(std::accumulate(partition.shares.begin(), partition.shares.end(), 0.0) == Approx(1800));
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(models[i]->seconds(partition.shares[i]) == Approx(partition.seconds).epsilon(1e-8));
}

TEST_CASE("where times fall and rise, the numerical answer is never worse than its start") {
    for (unsigned seed = 0; seed < 100; ++seed) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> speed(10, 100);
        std::vector<std::optional<Akima>> models;
        for (int i = 0; i < 4; ++i) {
            std::vector<BlockTime> samples;
            for (int k = 1; k <= 40; ++k) samples.push_back({10.0 * k, 10.0 * k / speed(random)});
            models.push_back(Akima::through(samples));
        }
        const std::vector<double> limits(4, 350), start(4, 250);
        const NumericalPartition partition = numerical_partition(models, start, 1000, limits);
        CAPTURE(seed);
        CHECK(std::accumulate(partition.shares.begin(), partition.shares.end(), 0.0) == Approx(1000));
        for (std::size_t i = 0; i < 4; ++i) {
            CHECK(models[i]->seconds(partition.shares[i]) <= partition.seconds * (1 + 1e-9));
            CHECK(partition.shares[i] <= 350 * (1 + 1e-12));
        }
        double start_s = 0;
        for (const auto& model : models) start_s = std::max(start_s, model->seconds(250));
        CHECK(partition.seconds <= start_s);
    }
}

TEST_CASE("where Newton's method fails, the geometrical answer stands") {
    // A step in the speed: no shares take equal times near the start.
    const Seconds step = [](double x) { return x < 500 ? x / 100 : x / 10; };
    const PlanProblem problem = problem_of({step, step}, 1200, 1200, 100);
    const Plan numerical = plan_fpm_akima(problem);
    const Plan geometric = plan_fpm(problem);
    CHECK(numerical.failure == "");
    CHECK(numerical.makespan_s <= geometric.makespan_s * (1 + 1e-9));
}

TEST_CASE("the finer model pays: a paging processor gets what it can hold") {
    // Ten times slower beyond 300 units; the constant model, taken at n / p, does not know.
    const auto paging = [](double x) { return x <= 300 ? x / 100 : 3 + (x - 300) / 10; };
    const PlanProblem problem = problem_of({paging, line(0, 0.05)}, 500, 600, 10);
    CHECK(plan_cpm(problem).makespan_s > 5);
    for (const Plan& plan : {plan_fpm(problem), plan_fpm_akima(problem)}) CHECK(plan.makespan_s < 9.0 + 0.3);
    CHECK(plan_fpm(problem).makespan_s < plan_cpm(problem).makespan_s);
}
