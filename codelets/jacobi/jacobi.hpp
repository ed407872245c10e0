// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The Jacobi method for one system A x = b, the application of the FuPerMod paper (Algorithm 1): rows are distributed,
// a unit is one row, and a load is submitted once per iteration. The rows of A, of its diagonal and of b stay where
// they are while the distribution stays (APPORTION_KEEP); the vector is exchanged, in that every block reads the whole
// x and writes its rows of the next one. Each block also tells how much its part of x changed, so that no processor has
// to read the vectors again to see whether they have converged.
#pragma once

#include <memory>

#include "codelets/common/codelet.hpp"
#include "codelets/jacobi/linear_system.hpp"

namespace apportion {

/// Largest absolute values over all rows; not-a-number where one was.
struct JacobiProgress {
    double step = 0;  ///< of x' - x
    double size = 0;  ///< of x'
};

class JacobiSolver : public Workload {
  public:
    /// Begins again, from x = 0.
    virtual void restart() = 0;

    /// To be called when a load over all rows has finished: the next x becomes x. Zeros in the simulated flavour.
    virtual JacobiProgress advance() = 0;

    /// x, n x 1.
    virtual const Matrix& x() const = 0;
};

/// The system must be solvable in the sense of check_solvable(). verify() checks the iteration that was computed last,
/// before advance().
std::unique_ptr<JacobiSolver> make_jacobi_solver(std::shared_ptr<LinearSystem> system);

/// A random system of float64.
std::unique_ptr<Workload> make_jacobi(const WorkloadOptions& options);

}  // namespace apportion
