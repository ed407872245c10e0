// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Matrix multiplication C = A B, the application of all five papers: A is M x K, B is K x N, C is M x N, column-major,
// float or double. A unit is one column of B and of C; every unit needs the whole of A.
//
// A is cut into row panels, registered once and shared by all blocks. A block of columns is one task per panel, and
// computes that panel's rows of its columns. While A fits a quarter of every device's memory there is one panel;
// otherwise panels are streamed through the devices, and each worker goes through them back and forth, so that the
// panels that StarPU still holds from the previous block are used first.
#pragma once

#include <cstdint>
#include <memory>

#include "codelets/common/codelet.hpp"
#include "codelets/common/matrix.hpp"

namespace apportion {

struct MatmulProblem {
    Matrix a, b, c;  ///< sizes and types agree
};

/// A and B random. Throws UserError when sizes are impossible or memory does not suffice.
MatmulProblem random_matmul(ElementType type, std::size_t m, std::size_t n, std::size_t k, std::uint64_t seed);

/// verify() checks every column of C against A and B by a random combination of its
/// rows (Freivalds), and a few columns element by element, all in double precision. An error is relative to the norms
/// of the row of A and the column of B involved; K times the type's epsilon bounds what rounding can do.
/// `panels`: row panels of A; 0 lets the devices' memory decide.
std::unique_ptr<Workload> make_matmul(std::shared_ptr<MatmulProblem> problem, unsigned panels = 0);

/// The same in rectangles of C, a task each; run_on_workers() has to give one unit to every worker with any. Two of one
/// worker have the same rows or none in common, and so for columns. A worker reads only the rows of A and columns of
/// B of its rectangles, each once. Not a load: a rectangle belongs to its worker. Real flavours only.
std::unique_ptr<Workload> make_matmul(std::shared_ptr<MatmulProblem> problem, PartsOfWorkers of_workers);

/// Float matrices, of size M, N, K.
std::unique_ptr<Workload> make_matmul(const WorkloadOptions& options);

/// Row panels for an A of that many bytes when the smallest device memory has `memory_bytes` (0: no device).
unsigned row_panels(std::size_t rows, std::uint64_t a_bytes, std::uint64_t memory_bytes);

/// C = A B by one call of OpenBLAS on `threads` threads: the peer that blocks are measured against. No other kernel may
/// run meanwhile.
void matmul_by_one_call(MatmulProblem& problem, int threads);

/// Compares problem.c with A B, see make_matmul().
Verification verify_matmul(const MatmulProblem& problem);

}  // namespace apportion
