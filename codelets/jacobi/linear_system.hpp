// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A system of linear equations A x = b with a square matrix, dense or sparse: what the Jacobi codelets solve.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codelets/common/codelet.hpp"
#include "codelets/common/matrix.hpp"

namespace apportion {

/// Compressed rows of an n x n matrix: row i has the entries start[i] ... start[i + 1] - 1, columns ascending.
struct SparseMatrix {
    std::size_t n = 0;
    std::vector<std::int64_t> start;
    std::vector<std::int32_t> columns;
    std::vector<double> values;
};

struct LinearSystem {
    std::string name;                    ///< for messages: its file, or "the generated system"
    std::optional<Matrix> dense;         ///< by rows: row i is column i of the Matrix
    std::optional<SparseMatrix> sparse;  ///< instead of it; b is float64 then
    Matrix b;                            ///< n x 1

    std::size_t n() const { return b.rows(); }
    ElementType type() const { return b.type(); }
    double entries() const;  ///< of the matrix
};

/// Calls body(column, value) for the entries of a row.
template <class T, class Body>
void for_each_entry(const LinearSystem& system, std::size_t row, Body&& body) {
    if (system.dense) {
        const T* const a = system.dense->column<T>(row);
        for (std::size_t j = 0; j < system.n(); ++j) body(j, a[j]);
    } else {
        const SparseMatrix& s = *system.sparse;
        for (std::int64_t k = s.start[row]; k < s.start[row + 1]; ++k)
            body(static_cast<std::size_t>(s.columns[k]), static_cast<T>(s.values[k]));
    }
}

/// Each column holds one row of a system, of as many unknowns as there are rows of the Matrix: its elements become
/// those of a row that is 1.1 times diagonally dominant, in (-1, 0] off the diagonal.
void make_dominant(Matrix& rows);

/// A dense system with elements in (-1, 0] off the diagonal and a diagonal 1.1 times as large as their sum: the error
/// shrinks by 1.1 in every iteration of the Jacobi method. Throws UserError when memory does not suffice.
LinearSystem random_system(ElementType type, std::size_t n, std::uint64_t seed);

/// b = A (1, 1, ..., 1).
void set_solution_of_ones(LinearSystem& system);

/// Throws UserError, a sentence with the row (from 1), when the matrix has a zero on its diagonal, or it or b
/// an element that is not finite.
void check_solvable(const LinearSystem& system);

/// A sentence about the first row whose diagonal element is not larger than the sum of the others, or "every row is
/// diagonally dominant". Absolute values.
std::string describe_dominance(const LinearSystem& system);

/// The diagonal as an n x 1 matrix.
Matrix diagonal_of(const LinearSystem& system);

/// Compares x_new, both n x 1, with one iteration in double precision: the largest error relative to the magnitudes
/// that each row adds up.
Verification verify_iteration(const LinearSystem& system, const Matrix& x, const Matrix& x_new);

/// The residual of a solution: max |b - A x| / (norm of A * max |x| + max |b|), norms of maximal row sums, in double
/// precision, against `tolerance` and rounding. Up to kDirectlySolved unknowns also the distance from Eigen's direct
/// solution, in the same measure after division by A's condition number; the larger of both is the error.
Verification verify_solution(const LinearSystem& system, const Matrix& x, double tolerance);
inline constexpr std::size_t kDirectlySolved = 512;

/// The Jacobi method by a library: OpenBLAS's matrix-vector product on `threads` threads and a loop, or Eigen's sparse
/// product on one. The peer that blocks are measured against.
class LibraryJacobi {
  public:
    LibraryJacobi(const LinearSystem& system, int threads);
    ~LibraryJacobi();
    LibraryJacobi(const LibraryJacobi&) = delete;
    LibraryJacobi& operator=(const LibraryJacobi&) = delete;

    /// That many iterations from x = 0. No other kernel may run meanwhile.
    void run(int iterations);
    std::string name() const;
    const Matrix& x() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace apportion
