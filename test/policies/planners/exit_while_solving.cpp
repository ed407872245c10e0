// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Exits while another thread goes on planning with IPOPT, as a program does whose load still runs: BLAS's memory is
// gone then. Status 0, not a signal.
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "policies/planners/continuous/equal_finish_ipopt.hpp"

using namespace apportion;

namespace {

class Line final : public ShareTime {
  public:
    explicit Line(double units_per_s) : units_per_s_(units_per_s) {}
    double seconds(double units) const override { return 0.1 + units / units_per_s_; }
    double derivative(double) const override { return 1 / units_per_s_; }
    double second_derivative(double) const override { return 0; }

  private:
    double units_per_s_;
};

}  // namespace

int main() {
    constexpr std::size_t kProcessors = 64;
    std::vector<Line> times;
    for (std::size_t p = 0; p < kProcessors; ++p) times.emplace_back(100.0 + static_cast<double>(p));
    EqualFinishProblem problem;
    problem.units = 1e6;
    for (const Line& time : times) problem.processors.push_back({.time = &time, .maximum_units = problem.units});
    EqualFinishIpopt::load();
    std::thread([problem] {
        EqualFinishIpopt solver;
        for (;;) solver.solve(problem, IpoptStart::equal_shares);
    }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::exit(0);
}
