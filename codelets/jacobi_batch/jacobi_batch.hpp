// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Many systems of linear equations, each solved by a fixed number of iterations of the Jacobi method from x = 0: the
// application of the paper on data assignment by integer programming. A unit is one system.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "codelets/common/codelet.hpp"
#include "codelets/common/matrix.hpp"

namespace apportion {

inline constexpr std::uint64_t kPaperIterations = 1300;
inline constexpr std::size_t kDefaultSystems = 64;

/// Matrices are stored by rows: row i of system s is column s * n + i of `a`.
struct JacobiBatch {
    std::string name;  ///< for messages
    Matrix a;          ///< n x (n * systems)
    Matrix b;          ///< n x systems
    Matrix x;          ///< n x systems, the result
    std::uint64_t iterations = kPaperIterations;

    std::size_t n() const { return b.rows(); }
    std::size_t systems() const { return b.columns(); }
    double operations() const;
};

/// Systems like random_system(), each different. Throws UserError when memory does not suffice.
JacobiBatch random_jacobi_batch(ElementType type, std::size_t systems, std::size_t n, std::uint64_t iterations,
                                std::uint64_t seed);

/// Throws UserError, a sentence with system and row (from 1), when a matrix has a zero on its diagonal, or an
/// element is not finite.
void check_solvable(const JacobiBatch& batch);

/// How far the iterations came.
struct BatchProgress {
    double residual = 0;  ///< max |D^-1 (b - A x)| relative to that of x = 0, of the system where it is largest
    /// A sentence about the first system that is not diagonally dominant and came no closer to a solution, or nothing.
    std::string failure;
};
BatchProgress batch_progress(const JacobiBatch& batch);

/// Checks every system: the residual D^-1 (b - A x) of the result must have shrunk from that of x = 0 by the
/// iterations, each of which multiplies it by the largest quotient q of a row's other elements and its diagonal
/// element; and computes some systems again, in plain loops. Where q >= 1 only the latter can be checked. The error is
/// relative to max |x|, to which rounding adds what it does in 1 / (1 - q) iterations.
Verification verify_jacobi_batch(const JacobiBatch& batch);

std::unique_ptr<Workload> make_jacobi_batch(std::shared_ptr<JacobiBatch> batch);

/// [S,]N: S (kDefaultSystems) systems of float64 with N unknowns, kPaperIterations iterations.
std::unique_ptr<Workload> make_jacobi_batch(const WorkloadOptions& options);

/// The same by matrix-vector products of OpenBLAS on one thread, system by system: the peer that blocks are measured
/// against. No other kernel may run meanwhile.
void jacobi_batch_by_blas(JacobiBatch& batch);

}  // namespace apportion
