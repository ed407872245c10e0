// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/continuous/equal_finish_ipopt.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cmath>

namespace apportion {

namespace {

using Solve = decltype(&apportion_solve_with_ipopt);

/// Null: there is no module beside the library, or none that loads. It stays loaded.
Solve load_module() {
    // Where the process has an MPI, the names that MUMPS brings have to be found in the module first.
    const bool has_mpi = dlsym(RTLD_DEFAULT, "MPI_Init") != nullptr;
    void* module =
        dlopen("libapportion-ipopt.so", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | (has_mpi ? RTLD_DEEPBIND : 0));
    return module ? reinterpret_cast<Solve>(dlsym(module, "apportion_solve_with_ipopt")) : nullptr;
}

Solve loaded_module() {
    static const Solve solve = load_module();
    return solve;
}

/// Whether a plan keeps what it promises: shares within bounds, all finish by T, the sum is n.
bool holds(const EqualFinishProblem& problem, const EqualFinishPlan& plan) {
    constexpr double kTolerance = 1e-6;
    double sum = 0;
    for (std::size_t g = 0; g < problem.processors.size(); ++g) {
        const EqualFinishProcessor& p = problem.processors[g];
        const double x = plan.shares_units[g];
        if (!(x >= 0) || x > p.maximum_units * (1 + kTolerance)) return false;
        if (x > 0 && !(p.busy_until_s + p.time->seconds(x) <= plan.finish_s * (1 + kTolerance))) return false;
        sum += x;
    }
    return std::abs(sum - problem.units) <= kTolerance * problem.units;
}

}  // namespace

void EqualFinishIpopt::load() { loaded_module(); }

bool EqualFinishIpopt::has_ipopt() { return loaded_module() != nullptr; }

EqualFinishPlan EqualFinishIpopt::solve(const EqualFinishProblem& problem, IpoptStart start) {
    const auto begin = std::chrono::steady_clock::now();
    EqualFinishPlan plan = equal_finish(problem);
    if (plan.feasible && problem.units > 0) {
        EqualFinishPlan other = plan;
        IpoptAnswer answer{.posed = true};
        if (const Solve solve = loaded_module()) solve(problem, other, start, answer);
        statistics_.solves += answer.posed;
        statistics_.iterations += answer.iterations;
        bool better = false;
        if (answer.solved) {
            double moved_units = 0;  // each of them is missed at one processor and found at another
            for (std::size_t g = 0; g < problem.processors.size(); ++g)
                moved_units += std::abs(other.shares_units[g] - plan.shares_units[g]) / 2;
            statistics_.largest_difference = std::max(statistics_.largest_difference, moved_units / problem.units);
            constexpr double kAgreement = 1e-6;
            better = holds(problem, other) && other.finish_s <= plan.finish_s * (1 + kAgreement);
            if (better) plan = other;
        }
        statistics_.fallbacks += answer.posed && !better;
    }
    statistics_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return plan;
}

}  // namespace apportion
