// SPDX-License-Identifier: LGPL-2.1-or-later
//
// libapportion-ipopt: IPOPT in a module of its own, which each scheduler of Apportion loads as it starts. Its MUMPS
// brings functions of MPI's names (stand-ins in Debian 12, an MPI of its own in Debian 13); in the module they meet
// neither the MPI of the program nor SimGrid's. Programs under StarPU's own schedulers do not load it.
#pragma once

#include "policies/planners/continuous/equal_finish.hpp"

namespace apportion {

enum class IpoptStart {
    bisection,    ///< IPOPT polishes what it is given
    equal_shares  ///< IPOPT finds its own way, as in the paper
};

struct IpoptAnswer {
    bool posed = false;   ///< at least two processors have shares to be found
    bool solved = false;  ///< IPOPT converged, and the plan is its answer
    int iterations = 0;
};

}  // namespace apportion

/// All that the module exports. Solves eqs 3-5 among the processors to which the plan, the bisection's, gives a share
/// strictly between its bounds, and puts the answer into the plan; without an answer it stays as it is. There is one
/// solver a process, which its first call sets up: of several threads one waits for the other.
extern "C" __attribute__((visibility("default"))) void apportion_solve_with_ipopt(
    const apportion::EqualFinishProblem& problem, apportion::EqualFinishPlan& plan, apportion::IpoptStart start,
    apportion::IpoptAnswer& answer);
