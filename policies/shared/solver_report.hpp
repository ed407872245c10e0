// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a policy whose distributions IPOPT solves tells about that.
#pragma once

#include "policies/planners/continuous/equal_finish_ipopt.hpp"
#include "policies/policy.hpp"

namespace apportion {

inline void report_solver(const EqualFinishIpopt& solver, PolicyReport& report) {
    const SolverStatistics& statistics = solver.statistics();
    report.solves = statistics.solves;
    report.solver_fallbacks = statistics.fallbacks;
    report.solver_difference = statistics.largest_difference;
    report.solver_seconds = statistics.seconds;
    if (statistics.solves > 0 && !solver.has_ipopt())
        report.note += std::string(report.note.empty() ? "" : "; ") +
                       "libapportion-ipopt.so cannot be loaded, so bisections decided instead of IPOPT";
}

}  // namespace apportion
