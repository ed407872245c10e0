// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long the planners take: the published data assignment instances and large ones, lp_solve's time limit, the
// planners with functional models for 1000 processors, and IPOPT for 8 and 64 on time functions of PLB-HeC's kind
// (fitted curve plus transfer line). Prints median and spread of the repetitions, in processor time;
// exits with 1 when a target is missed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "models/fitted_curve.hpp"
#include "policies/planners/assignment/data_assignment.hpp"
#include "policies/planners/continuous/equal_finish_ipopt.hpp"
#include "policies/planners/continuous/geometric.hpp"
#include "policies/planners/continuous/numerical.hpp"
#include "test/published/gdansk.hpp"

using namespace apportion;
using namespace published;

namespace {

constexpr int kRepetitions = 21;

enum class Clock { processor, wall };

/// Processor time, so that other programs on the machine do not count; wall time where a limit is to be kept.
double seconds_of(const std::function<void()>& work, Clock clock) {
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t begin_ticks = std::clock();
    work();
    if (clock == Clock::processor) return static_cast<double>(std::clock() - begin_ticks) / CLOCKS_PER_SEC;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

bool measure(const std::string& what, double target_ms, const std::function<void()>& work,
             int repetitions = kRepetitions, Clock clock = Clock::processor) {
    work();  // once to warm up
    std::vector<double> times_ms;
    for (int i = 0; i < repetitions; ++i) times_ms.push_back(1e3 * seconds_of(work, clock));
    std::sort(times_ms.begin(), times_ms.end());
    const double median_ms = times_ms[times_ms.size() / 2];
    const bool met = median_ms <= target_ms;
    fmt::print("{:<58} median {:9.4f} ms  min {:9.4f}  max {:9.4f}  target {:g} ms{}\n", what, median_ms,
               times_ms.front(), times_ms.back(), target_ms, met ? "" : "  MISSED");
    return met;
}

DataAssignment gdansk_problem(const gdansk::Size& size) {
    DataAssignment problem;
    for (std::size_t i = 0; i < gdansk::kNodes; ++i)
        problem.nodes.push_back({gdansk::kNodeNames[i], gdansk::kStartupS[i],
                                 (size.input_bytes + size.result_bytes) / gdansk::kBytesPerS[i], kNoLimit});
    for (std::size_t j = 0; j < gdansk::kUnits; ++j)
        problem.units.push_back({std::to_string(j), gdansk::kNodeOfUnit[j], size.c_s[j], size.c_s[j], kNoLimit});
    return problem;
}

DataAssignment large_problem() {
    std::mt19937 random(42);
    std::uniform_real_distribution<double> uniform(0, 1);
    DataAssignment problem;
    problem.packets = 1000000;
    for (std::size_t i = 0; i < 100; ++i) {
        problem.nodes.push_back(
            {"", 1e-5 * uniform(random), 1e-3 * uniform(random), uniform(random) < 0.2 ? 5000 : kNoLimit});
        for (int k = 0; k < 4; ++k) {
            const double c = 0.05 + uniform(random);
            problem.units.push_back({"", i, c, c, kNoLimit});
        }
    }
    return problem;
}

/// The hardest there is: computing a packet of the first node takes as long as it saves on the network, so that T is
/// the same for all computing times but for rounding.
DataAssignment flat_problem() {
    DataAssignment problem = large_problem();
    double saved_per_s = 0;
    for (const AssignmentUnit& unit : problem.units)
        if (unit.node == 0) saved_per_s += 1 / unit.seconds_per_packet;
    for (AssignmentNode& node : problem.nodes) node = {"", 0, 1 / saved_per_s, kNoLimit};
    problem.nodes[0].seconds_per_packet = 0;
    return problem;
}

bool measure_assignments() {
    bool met = true;
    for (const Network network : {Network::serial, Network::parallel}) {
        const std::string name = network == Network::serial ? "serial" : "parallel";
        for (const gdansk::Size& size : gdansk::kSizes)
            for (const gdansk::Column& column : size.columns) {
                DataAssignment problem = gdansk_problem(size);
                problem.network = network;
                problem.packets = column.packets;
                const std::string what =
                    fmt::format("ilp, {}, {} packets of {}^2", name, column.packets, size.unknowns);
                met = measure(what, 1, [&] { plan_ilp(problem); }) && met;
            }
        DataAssignment flat = flat_problem();
        flat.network = network;
        met = measure("ilp, " + name + ", the same number, flat", 100, [&] { plan_ilp(flat); }) && met;
        DataAssignment problem = large_problem();
        problem.network = network;
        met = measure("ilp, " + name + ", 10^6 packets on 100 nodes of 4", 100, [&] { plan_ilp(problem); }) && met;
        met = measure("min-min v2, " + name + ", the same", 100, [&] { plan_min_min_v2(problem); }) && met;
        const double limit_s = 0.5;
        met = measure(
                  "ilp-milp, " + name + ", the same, limit 500 ms", 1e3 * (limit_s + 0.1),
                  [&] { plan_ilp_milp(problem, {limit_s}); }, 5, Clock::wall) &&
              met;
    }
    return met;
}

class CurveTime final : public ShareTime {
  public:
    explicit CurveTime(FittedCurve curve, double transfer_s = 0) : curve_(std::move(curve)), transfer_s_(transfer_s) {}
    double seconds(double x) const override { return curve_.seconds(x) + transfer_s_ * x; }
    double derivative(double x) const override { return curve_.derivative(x) + transfer_s_; }
    double second_derivative(double x) const override { return curve_.second_derivative(x); }

  private:
    FittedCurve curve_;
    double transfer_s_;
};

/// Profiles of 20 sizes: a speed that saturates, then falls by a fifth, with 3 % of noise.
PlanProblem functional_problem(std::size_t processors) {
    std::mt19937 random(7);
    std::lognormal_distribution<double> spread(0, 1);
    std::normal_distribution<double> noise(1, 0.03);
    PlanProblem problem;
    problem.units = 2000 * static_cast<Units>(processors);
    for (std::size_t i = 0; i < processors; ++i) {
        DiscreteTimes& times = problem.processors.emplace_back();
        const double fastest = 1000 * spread(random), half = 300 * spread(random);
        for (int k = 1; k <= 20; ++k) {
            const double x = 400.0 * k;
            const double speed = fastest * x / (x + half) * (1 - 0.2 * std::max(0.0, x - 5000) / 3000) * noise(random);
            times.points.push_back(400 * k);
            times.seconds.push_back(x / speed);
        }
    }
    return problem;
}

bool measure_functional(std::size_t processors) {
    const PlanProblem problem = functional_problem(processors);
    const ContinuousProblem continuous(problem);
    std::vector<std::optional<PiecewiseLinear>> linear;
    std::vector<std::optional<Akima>> smooth;
    std::deque<CurveTime> curves;
    EqualFinishProblem equations;
    for (std::size_t i = 0; i < processors; ++i) {
        linear.push_back(PiecewiseLinear::through(continuous.samples(i), PiecewiseLinear::Shape::restricted));
        smooth.push_back(Akima::through(continuous.samples(i)));
        equations.processors.push_back({&curves.emplace_back(*FittedCurve::fit(continuous.samples(i)))});
    }
    const double units = equations.units = continuous.units();
    const std::vector<double> limits(continuous.limits().begin(), continuous.limits().end());
    const std::vector<double> start = geometric_partition(linear, units, limits).shares;
    const std::string p = fmt::format(", {} processors", processors);
    bool met = measure("fpm" + p + ", models given", 5, [&] { geometric_partition(linear, units, limits); });
    met = measure("fpm" + p + ", from the profile", 5, [&] { plan_fpm(problem); }) && met;
    met = measure("fpm-akima" + p + ", models and start given", 5,
                  [&] { numerical_partition(smooth, start, units, limits); }) &&
          met;
    met = measure("fpm-akima" + p + ", from the profile", 5, [&] { plan_fpm_akima(problem); }) && met;
    met = measure("equal-finish bisection" + p, 5, [&] { equal_finish(equations); }) && met;
    const NumericalPartition newton = numerical_partition(smooth, start, units, limits);
    fmt::print("  Newton's method: {} steps, {}\n", newton.steps, newton.converged ? "converged" : "did not converge");
    return met;
}

struct Equations {
    std::deque<CurveTime> times;
    EqualFinishProblem problem;
};

/// Every third processor is a line, every third bends upwards, every third saturates like a device.
Equations equations(std::size_t processors) {
    std::mt19937 random(42);
    std::lognormal_distribution<> spread(0, 1);
    Equations result;
    for (std::size_t g = 0; g < processors; ++g) {
        const double slope = 1e-3 * spread(random);
        std::vector<BlockTime> samples;
        for (double x = 50; x <= 6400; x *= 2) {
            const double line_s = slope * x;
            const double bend_s = g % 3 == 0 ? 0 : g % 3 == 1 ? slope * x * x / 6400 : slope * 500 * std::log(x);
            samples.push_back({x, 0.01 + line_s + bend_s});
        }
        result.problem.processors.push_back({&result.times.emplace_back(*FittedCurve::fit(samples), 1e-5)});
    }
    result.problem.units = 2000 * static_cast<double>(processors);
    return result;
}

bool measure_ipopt() {
    const Equations small = equations(8), large = equations(64);
    EqualFinishIpopt ipopt;
    bool met = true;
    for (const IpoptStart start : {IpoptStart::equal_shares, IpoptStart::bisection}) {
        ipopt.reset_statistics();
        const std::string from = start == IpoptStart::bisection ? "bisection" : "equal shares";
        met = measure("IPOPT from " + from + ", 8 processors", 5, [&] { ipopt.solve(small.problem, start); }) && met;
        met = measure("IPOPT from " + from + ", 64 processors", 50, [&] { ipopt.solve(large.problem, start); }) && met;
        const SolverStatistics& statistics = ipopt.statistics();
        fmt::print("  {} solves, {} fallbacks, {:.1f} iterations each\n", statistics.solves, statistics.fallbacks,
                   static_cast<double>(statistics.iterations) / statistics.solves);
        met = met && statistics.fallbacks == 0;
    }
    return measure("equal-finish bisection, 8 processors", 0.05, [&] { equal_finish(small.problem); }) && met;
}

}  // namespace

int main() {
    const bool assignments_met = measure_assignments();
    const bool functional_met = measure_functional(1000);
    const bool ipopt_met = measure_ipopt();
    return assignments_met && functional_met && ipopt_met ? 0 : 1;
}
