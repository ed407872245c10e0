// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where there is no IPOPT the bisection's answer is the answer, and counted as a fallback.
#include <chrono>

#include "policies/planners/continuous/equal_finish_ipopt.hpp"

namespace apportion {

struct EqualFinishIpopt::Application {};

EqualFinishIpopt::EqualFinishIpopt() = default;
EqualFinishIpopt::~EqualFinishIpopt() = default;

EqualFinishPlan EqualFinishIpopt::solve(const EqualFinishProblem& problem, Start) {
    const auto begin = std::chrono::steady_clock::now();
    EqualFinishPlan plan = equal_finish(problem);
    ++statistics_.solves;
    ++statistics_.fallbacks;
    statistics_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return plan;
}

}  // namespace apportion
