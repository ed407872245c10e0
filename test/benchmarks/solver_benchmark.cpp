// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long the equal-finish problem takes: IPOPT for 8 and 64 processors, the bisection for 8, on time functions of
// PLB-HeC's kind (fitted curve plus transfer line). Prints median and spread of the repetitions; exits with 1 when a
// target is missed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "models/fitted_curve.hpp"
#include "policies/planners/continuous/equal_finish_ipopt.hpp"

using namespace apportion;

namespace {

class CurveTime final : public ShareTime {
  public:
    CurveTime(FittedCurve curve, double transfer_s) : curve_(std::move(curve)), transfer_s_(transfer_s) {}
    double seconds(double x) const override { return curve_.seconds(x) + transfer_s_ * x; }
    double derivative(double x) const override { return curve_.derivative(x) + transfer_s_; }
    double second_derivative(double x) const override { return curve_.second_derivative(x); }

  private:
    FittedCurve curve_;
    double transfer_s_;
};

struct Problem {
    std::vector<std::unique_ptr<CurveTime>> times;
    EqualFinishProblem problem;
};

/// Every third processor is a line, every third bends upwards, every third saturates like a device.
Problem make_problem(std::size_t processors) {
    std::mt19937 random(42);
    std::lognormal_distribution<> spread(0, 1);
    Problem result;
    for (std::size_t g = 0; g < processors; ++g) {
        const double slope = 1e-3 * spread(random);
        std::vector<BlockTime> samples;
        for (double x = 50; x <= 6400; x *= 2) {
            const double line_s = slope * x;
            const double bend_s = g % 3 == 0 ? 0 : g % 3 == 1 ? slope * x * x / 6400 : slope * 500 * std::log(x);
            samples.push_back({x, 0.01 + line_s + bend_s});
        }
        result.times.push_back(std::make_unique<CurveTime>(*FittedCurve::fit(samples), 1e-5));
        result.problem.processors.push_back({result.times.back().get()});
    }
    result.problem.units = 2000 * static_cast<double>(processors);
    return result;
}

bool measure(const std::string& what, std::size_t processors, double target_ms, const std::function<void()>& solve) {
    constexpr int kRepetitions = 21;
    solve();  // once to warm up
    std::vector<double> times_ms;
    for (int i = 0; i < kRepetitions; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        solve();
        times_ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(times_ms.begin(), times_ms.end());
    const double median_ms = times_ms[kRepetitions / 2];
    fmt::print("{:<24} {:>3} processors  median {:8.4f} ms  min {:8.4f}  max {:8.4f}  target {:g} ms{}\n", what,
               processors, median_ms, times_ms.front(), times_ms.back(), target_ms,
               median_ms <= target_ms ? "" : "  MISSED");
    return median_ms <= target_ms;
}

}  // namespace

int main() {
    const Problem small = make_problem(8), large = make_problem(64);
    EqualFinishIpopt ipopt;
    using Start = IpoptStart;
    bool met = true;
    for (const Start start : {Start::equal_shares, Start::bisection}) {
        ipopt.reset_statistics();
        const std::string from = start == Start::bisection ? "bisection" : "equal shares";
        met = measure("IPOPT from " + from, 8, 5, [&] { ipopt.solve(small.problem, start); }) && met;
        met = measure("IPOPT from " + from, 64, 50, [&] { ipopt.solve(large.problem, start); }) && met;
        const SolverStatistics& statistics = ipopt.statistics();
        fmt::print("  {} solves, {} fallbacks, {:.1f} iterations each\n", statistics.solves, statistics.fallbacks,
                   static_cast<double>(statistics.iterations) / statistics.solves);
        met = met && statistics.fallbacks == 0;
    }
    met = measure("bisection alone", 8, 0.05, [&] { equal_finish(small.problem); }) && met;
    return met ? 0 : 1;
}
