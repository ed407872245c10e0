// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The equal-finish problem as PLB-HeC solves it (section III.C): a nonlinear program for IPOPT's interior-point line
// search filter method, with exact gradient, Jacobian and Hessian.
//
//     variables   u_g = x_g / n in [0, bound], tau = T / T0      minimise tau
//     subject to  (b_g + E_g(n u_g)) / T0 = tau  for every g,    sum u_g = 1
//
// The bisection decides which processors are left out or at their bounds, for which eq. 4 cannot hold, and is the
// starting point unless equal shares are asked for. It is the cross-check as well: where IPOPT does not converge, or
// its answer breaks a constraint or finishes later, or there is no IPOPT, the bisection's answer stands and is counted
// as a fallback.
//
// Objects of different threads may solve at the same time: IPOPT itself runs for one of them after the other.
#pragma once

#include "policies/planners/continuous/ipopt_module.hpp"

namespace apportion {

struct SolverStatistics {
    int solves = 0;
    int fallbacks = 0;
    int iterations = 0;
    double seconds = 0;  ///< wall time in IPOPT and in the bisection before it
    /// The largest share, of the units of its problem, that an answer of IPOPT gave to another processor than the
    /// bisection's did, whichever was taken.
    double largest_difference = 0;
};

class EqualFinishIpopt {
  public:
    /// Loading IPOPT takes tens of milliseconds, the first time in a process: early, so that no run waits for it.
    static void load();

    /// Silent, never throws. Time functions must be twice differentiable on the way, else it falls back.
    EqualFinishPlan solve(const EqualFinishProblem& problem, IpoptStart start = IpoptStart::bisection);

    /// Otherwise every solution is the bisection's, and counts as a fallback.
    static bool has_ipopt();
    const SolverStatistics& statistics() const { return statistics_; }
    void reset_statistics() { statistics_ = {}; }

  private:
    SolverStatistics statistics_;
};

}  // namespace apportion
