// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/continuous/equal_finish.hpp"

#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <thread>

#include "policies/planners/continuous/equal_finish_ipopt.hpp"
#include "test/catch.hpp"

using namespace apportion;

namespace {

/// fixed + slope x + bend x^power
class PowerTime final : public ShareTime {
  public:
    static inline std::atomic<int> evaluations = 0;

    PowerTime(double fixed, double slope, double bend = 0, double power = 2)
        : fixed_(fixed), slope_(slope), bend_(bend), power_(power) {}
    double seconds(double x) const override {
        ++evaluations;
        return fixed_ + slope_ * x + bend_ * std::pow(x, power_);
    }
    double derivative(double x) const override {
        ++evaluations;
        return slope_ + bend_ * power_ * std::pow(x, power_ - 1);
    }
    double second_derivative(double x) const override {
        return bend_ * power_ * (power_ - 1) * std::pow(x, power_ - 2);
    }

  private:
    double fixed_, slope_, bend_, power_;
};

/// slope x, and for each 100 units `jump` more
class JumpingTime final : public ShareTime {
  public:
    JumpingTime(double slope, double jump) : slope_(slope), jump_(jump) {}
    double seconds(double x) const override { return slope_ * x + jump_ * std::floor(x / 100); }
    double derivative(double) const override { return slope_; }
    double second_derivative(double) const override { return 0; }

  private:
    double slope_, jump_;
};

double sum_of(const EqualFinishPlan& plan) {
    return std::accumulate(plan.shares_units.begin(), plan.shares_units.end(), 0.0);
}

struct RandomProblem {
    std::vector<std::unique_ptr<PowerTime>> times;
    EqualFinishProblem problem;
};

RandomProblem random_problem(unsigned seed, std::size_t processors) {
    std::mt19937 random(seed);
    std::lognormal_distribution<> spread(0, 1);
    std::uniform_real_distribution<> power(0.7, 2.5);
    RandomProblem result;
    for (std::size_t g = 0; g < processors; ++g) {
        const double k = power(random);
        result.times.push_back(std::make_unique<PowerTime>(0.1 * spread(random), 1e-3 * spread(random),
                                                           1e-1 * std::pow(1e-3, k) * spread(random), k));
        result.problem.processors.push_back({result.times.back().get(), 0.2 * spread(random)});
    }
    result.problem.units = 1000 * static_cast<double>(processors);
    return result;
}

}  // namespace

TEST_CASE("the share that ends by a moment is the largest that does") {
    const PowerTime time(2, 0.5);
    EqualFinishProcessor processor{&time, 10};
    CHECK(share_ending_by(processor, 100, 22) == Approx(20));
    CHECK(share_ending_by(processor, 15, 22) == 15);
    CHECK(share_ending_by(processor, 100, 11) == 0);
    CHECK(share_ending_by(processor, 100, 1) == 0);
    processor.maximum_units = 7;
    CHECK(share_ending_by(processor, 100, 22) == 7);
}

TEST_CASE("shares of proportional processors are as their speeds") {
    PowerTime fast(0, 1), slow(0, 4);
    EqualFinishProblem problem{1000, {{&fast}, {&slow}}};
    const EqualFinishPlan plan = equal_finish(problem);
    CHECK(plan.shares_units[0] == Approx(800));
    CHECK(plan.shares_units[1] == Approx(200));
    CHECK(plan.finish_s == Approx(800));
}

TEST_CASE("lines with fixed costs and busy processors finish together as the closed form says") {
    PowerTime a(3, 0.01), b(0.5, 0.05), c(0, 0.2);
    EqualFinishProblem problem{5000, {{&a, 1}, {&b, 0}, {&c, 7}}};
    // Sum of (T - busy - fixed) / slope = n
    const double speeds = 1 / 0.01 + 1 / 0.05 + 1 / 0.2;
    const double finish_s = (5000 + 4 / 0.01 + 0.5 / 0.05 + 7 / 0.2) / speeds;
    const EqualFinishPlan plan = equal_finish(problem);
    CHECK(plan.finish_s == Approx(finish_s));
    CHECK(plan.shares_units[0] == Approx((finish_s - 4) / 0.01));
    CHECK(plan.shares_units[1] == Approx((finish_s - 0.5) / 0.05));
    CHECK(plan.shares_units[2] == Approx((finish_s - 7) / 0.2));
}

TEST_CASE("a processor that cannot finish anything in time is left out") {
    PowerTime fast(0, 1e-3), late(100, 1e-3);
    EqualFinishProblem problem{1000, {{&fast}, {&late}, {&fast, 50}}};
    for (const EqualFinishPlan& plan : {equal_finish(problem), EqualFinishIpopt().solve(problem)}) {
        CHECK(plan.shares_units[0] == Approx(1000));
        CHECK(plan.shares_units[1] == 0);
        CHECK(plan.shares_units[2] == 0);
        CHECK(plan.finish_s == Approx(1));
    }
}

TEST_CASE("bounds hold, and too tight ones are reported") {
    PowerTime fast(0, 1e-3), slow(0, 1e-2);
    EqualFinishProblem problem{1000, {{&fast, 0, 300}, {&slow}}};
    EqualFinishPlan plan = equal_finish(problem);
    CHECK(plan.feasible);
    CHECK(plan.shares_units[0] == Approx(300));
    CHECK(plan.shares_units[1] == Approx(700));
    problem.processors[1].maximum_units = 600;
    plan = equal_finish(problem);
    CHECK_FALSE(plan.feasible);
    CHECK(sum_of(plan) == Approx(900));
}

TEST_CASE("what finish is expected makes no difference to the plan") {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        RandomProblem random = random_problem(seed, 1 + seed % 9);
        const EqualFinishPlan plan = equal_finish(random.problem);
        for (const double part : {1e-6, 0.3, 0.99, 1.0, 1 + 1e-9, 1.01, 3.0, 1e6}) {
            random.problem.expected_finish_s = part * plan.finish_s;
            const EqualFinishPlan other = equal_finish(random.problem);
            CHECK(other.finish_s == Approx(plan.finish_s).epsilon(1e-7));
            CHECK(sum_of(other) == Approx(random.problem.units).epsilon(1e-9));
            for (std::size_t g = 0; g < plan.shares_units.size(); ++g)
                CHECK(std::abs(other.shares_units[g] - plan.shares_units[g]) <= 1e-6 * random.problem.units);
        }
    }
}

TEST_CASE("what shares are expected makes no difference to the plan, and the right ones make it cheaper") {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        RandomProblem random = random_problem(seed, 2 + seed % 8);
        const EqualFinishPlan plan = equal_finish(random.problem);
        random.problem.expected_finish_s = plan.finish_s;
        PowerTime::evaluations = 0;
        CHECK(equal_finish(random.problem).feasible);
        const int unexpected = PowerTime::evaluations;
        for (const double part : {1e-9, 0.3, 1.0, 1.01, 1e6}) {
            for (std::size_t g = 0; g < plan.shares_units.size(); ++g)
                random.problem.processors[g].expected_units = part * plan.shares_units[g];
            PowerTime::evaluations = 0;
            const EqualFinishPlan other = equal_finish(random.problem);
            if (part == 1.0) CHECK(PowerTime::evaluations < unexpected);
            CHECK(other.finish_s == Approx(plan.finish_s).epsilon(1e-7));
            CHECK(sum_of(other) == Approx(random.problem.units).epsilon(1e-9));
            for (std::size_t g = 0; g < plan.shares_units.size(); ++g)
                CHECK(std::abs(other.shares_units[g] - plan.shares_units[g]) <= 1e-6 * random.problem.units);
        }
    }
}

TEST_CASE("shares of times that jump end by the finish, and the next jump does not") {
    const JumpingTime fast(1e-3, 0.5), slow(1e-2, 2), fixed(1e-2, 50);
    for (const double units : {50.0, 990.0, 5000.0})
        for (const double expected : {0.0, 1.0, 99.0, 100.0, 101.0, 5000.0}) {
            EqualFinishProblem problem{units, {{&fast, 0.25}, {&slow}, {&fixed, 1}}};
            for (EqualFinishProcessor& p : problem.processors) p.expected_units = expected;
            for (const double tolerance : {1e-9, 1e-5}) {
                problem.tolerance = tolerance;
                const EqualFinishPlan plan = equal_finish(problem);
                CHECK(sum_of(plan) == Approx(units).epsilon(1e-9));
                for (std::size_t g = 0; g < 3; ++g) {
                    const EqualFinishProcessor& p = problem.processors[g];
                    const double slack = 4 * tolerance * units;  // units
                    const double share = plan.shares_units[g];
                    if (share > slack)
                        CHECK(p.busy_until_s + p.time->seconds(share - slack) <= plan.finish_s * (1 + 4 * tolerance));
                    if (share < units - slack && g != 0)
                        CHECK(p.busy_until_s + p.time->seconds(share + slack + 100) > plan.finish_s);
                }
            }
        }
}

TEST_CASE("no distribution on a grid finishes earlier") {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        RandomProblem random = random_problem(seed, 3);
        random.problem.units = 200;
        const EqualFinishPlan plan = equal_finish(random.problem);
        double best_s = 1e300;
        for (int i = 0; i <= 200; ++i)
            for (int j = 0; i + j <= 200; ++j) {
                const double shares[] = {double(i), double(j), double(200 - i - j)};
                double finish_s = 0;
                for (int g = 0; g < 3; ++g)
                    if (shares[g] > 0)
                        finish_s = std::max(
                            finish_s, random.problem.processors[g].busy_until_s + random.times[g]->seconds(shares[g]));
                best_s = std::min(best_s, finish_s);
            }
        CHECK(plan.finish_s <= best_s * (1 + 1e-9));
        CHECK(plan.finish_s >= best_s * 0.95);  // the grid is fine enough
    }
}

TEST_CASE("IPOPT and the bisection agree, wherever IPOPT starts") {
    for (const auto start : {IpoptStart::bisection, IpoptStart::equal_shares}) {
        EqualFinishIpopt ipopt;
        double largest_difference = 0;
        for (std::size_t processors : {2u, 3u, 8u, 18u, 64u})
            for (unsigned seed = 1; seed <= 10; ++seed) {
                INFO("processors " << processors << ", seed " << seed);
                const RandomProblem random = random_problem(seed, processors);
                const EqualFinishPlan bisection = equal_finish(random.problem);
                const EqualFinishPlan plan = ipopt.solve(random.problem, start);
                CHECK(plan.finish_s == Approx(bisection.finish_s).epsilon(1e-6));
                for (std::size_t g = 0; g < processors; ++g)
                    CHECK(plan.shares_units[g] == Approx(bisection.shares_units[g]).epsilon(1e-4).margin(1e-2));
                CHECK(sum_of(plan) == Approx(random.problem.units));
                double moved = 0;
                for (std::size_t g = 0; g < processors; ++g)
                    moved += std::abs(plan.shares_units[g] - bisection.shares_units[g]);
                largest_difference = std::max(largest_difference, moved / 2 / random.problem.units);
            }
        CHECK(ipopt.statistics().solves == 50);
        if (start == IpoptStart::bisection) {
            CHECK(ipopt.statistics().fallbacks == 0);
            CHECK(ipopt.statistics().largest_difference == Approx(largest_difference));
            CHECK(largest_difference < 1e-5);
            CHECK(ipopt.statistics().iterations <= 50 * 3);
        } else {
            CHECK(ipopt.statistics().fallbacks <= 2);
            CHECK(ipopt.statistics().iterations >= 50 * 3);  // it does work
            CHECK(ipopt.statistics().iterations <= 50 * 30);
        }
    }
}

TEST_CASE("IPOPT finds the same when several threads solve at once") {
    constexpr std::size_t kThreads = 4;
    constexpr int kSolves = 150;
    const auto solve = [](std::size_t processors) {
        return EqualFinishIpopt().solve(random_problem(1, processors).problem, IpoptStart::equal_shares);
    };
    std::vector<int> equal(kThreads, 0);
    std::vector<std::thread> threads;
    std::vector<double> alone_s;
    for (std::size_t t = 0; t < kThreads; ++t) alone_s.push_back(solve(20 + 7 * t).finish_s);
    for (std::size_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            for (int k = 0; k < kSolves; ++k) equal[t] += solve(20 + 7 * t).finish_s == alone_s[t] ? 1 : 0;
        });
    for (std::thread& thread : threads) thread.join();
    for (const int count : equal) CHECK(count == kSolves);
}

TEST_CASE("where IPOPT cannot work the bisection's answer stands and is counted") {
    class Broken final : public ShareTime {
      public:
        explicit Broken(double slope) : slope_(slope) {}
        double seconds(double x) const override { return slope_ * x; }
        double derivative(double) const override { return slope_; }
        double second_derivative(double) const override { return std::nan(""); }

      private:
        double slope_;
    };
    Broken fast(1e-3), slow(4e-3);
    EqualFinishProblem problem{1000, {{&fast}, {&slow}}};
    EqualFinishIpopt ipopt;
    const EqualFinishPlan plan = ipopt.solve(problem, IpoptStart::equal_shares);
    CHECK(plan.shares_units[0] == Approx(800));
    CHECK(plan.finish_s == Approx(0.8));
    CHECK(ipopt.statistics().solves == 1);
    CHECK(ipopt.statistics().fallbacks == 1);
}

TEST_CASE("nothing to distribute and nobody to distribute to are no errors") {
    PowerTime time(1, 1);
    CHECK(equal_finish({0, {{&time}}}).finish_s == 0);
    CHECK(equal_finish({0, {}}).feasible);
    CHECK_FALSE(equal_finish({10, {}}).feasible);
    CHECK(EqualFinishIpopt().solve({10, {{&time}}}).finish_s == Approx(11));
}

TEST_CASE("the bisection evaluates time functions a bounded number of times") {
    for (std::size_t processors : {8u, 64u})
        for (unsigned seed = 1; seed <= 20; ++seed) {
            const RandomProblem random = random_problem(seed, processors);
            PowerTime::evaluations = 0;
            equal_finish(random.problem);
            CHECK(PowerTime::evaluations <= 200 * static_cast<int>(processors));
        }
}
