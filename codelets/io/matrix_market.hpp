// SPDX-License-Identifier: LGPL-2.1-or-later
//
// NIST's Matrix Market exchange format for real matrices: coordinate or array; real or integer; general or symmetric.
// Debian packages no library for it but Eigen's, whose loadMarket accepts files with lines missing or malformed. This
// reader is strict: whatever is not exactly such a file throws UserError, "FILE:LINE: problem".
#pragma once

#include <string>
#include <variant>

#include "codelets/common/matrix.hpp"
#include "codelets/jacobi/linear_system.hpp"

namespace apportion {

/// Reads a square matrix: a coordinate file as a SparseMatrix (or by its rows, as a Matrix, where a third of the
/// elements and more are there), an array file as a Matrix by its rows. All in double precision.
std::variant<SparseMatrix, Matrix> read_matrix_market(const std::string& path);

/// Reads a vector: an array file with one column. An n x 1 Matrix of float64.
Matrix read_matrix_market_vector(const std::string& path);

/// Whether the file begins as Matrix Market files do. False for files that cannot be read.
bool is_matrix_market(const std::string& path);

}  // namespace apportion
