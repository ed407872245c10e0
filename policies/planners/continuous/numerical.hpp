// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `fpm-akima`: the numerical algorithm of FuPerMod (section 4; Rychkov, Clarke, Lastovetsky 2011). The balanced
// distribution solves the p + 1 equations
//
//     t_i(x_i) = T  for every processor i,    x_1 + ... + x_p = n
//
// by Newton's method in all x_i and T at once; the Jacobian is an arrow (a diagonal, a row and a column), so that a
// step costs O(p). Any smooth shape is allowed; where several distributions are balanced, the one near the start is
// found. The geometrical algorithm's answer is the start and, where that fails, the constant model's.
//
// Beyond the paper: shares at a limit leave the equations; steps are bounded, and never follow a time that falls; where
// the method does not converge (a jump, times that cross several times), the best shares on the way are the answer.
#pragma once

#include "models/akima.hpp"
#include "policies/planners/continuous/continuous.hpp"

namespace apportion {

struct NumericalPartition {
    std::vector<double> shares;
    double seconds = 0;      ///< T
    int steps = 0;           ///< of Newton's method
    bool converged = false;  ///< and the answer is balanced
};

/// `start`: shares with sum `units`, in [0, limits]. null model: nothing for this processor.
NumericalPartition numerical_partition(std::span<const std::optional<Akima>> models, std::vector<double> start,
                                       double units, std::span<const double> limits);

Plan plan_fpm_akima(const PlanProblem& problem);

}  // namespace apportion
