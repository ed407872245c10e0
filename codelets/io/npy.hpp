// SPDX-License-Identifier: LGPL-2.1-or-later
//
// NumPy's .npy files: arrays of float32, float64, complex64 and complex128 in C or Fortran order, format versions 1 to
// 3, as described in NumPy's "NEP 1". Debian packages no library for it but xtensor's, which accepts truncated files.
// The reader is strict: whatever is not exactly such an array throws UserError with a sentence that names the
// file.
//
// An array is read as a matrix of the same rows and columns, or by its rows: each becomes a column of a Matrix, that
// is contiguous. All dimensions but the last then count as rows.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "codelets/common/matrix.hpp"

namespace apportion {

struct NpyHeader {
    ElementType type = ElementType::float32;
    bool fortran_order = false;
    std::vector<std::size_t> shape;  ///< 1 to 3 dimensions, none 0
    std::size_t rows = 0;            ///< product of all dimensions but the last
    std::size_t columns = 0;         ///< the last dimension
    std::size_t data_offset = 0;
};

enum class NpyElements { real, complex };

/// Reads the header of a real matrix and checks that the file has exactly the bytes it announces.
NpyHeader read_npy_header(const std::string& path);

/// The same for an array with 1 to 3 dimensions. Fortran order is fine up to 2.
NpyHeader read_npy_rows_header(const std::string& path, NpyElements elements);

/// Reads a whole matrix.
Matrix read_npy(const std::string& path);

/// Reads an array by its rows: a Matrix of header.columns x header.rows.
Matrix read_npy_rows(const std::string& path, NpyElements elements);

enum class NpyRead { whole, by_rows };

/// Throws UserError, a sentence with an element's row and column in the file (from 0), when it is not finite.
void require_finite(const std::string& path, const Matrix& matrix, NpyRead read);

/// Writes in Fortran order (the matrix's own), into a temporary file beside `path` that then replaces it.
void write_npy(const std::string& path, const Matrix& matrix);

/// Writes the columns of the matrix as the rows of an array of that shape, in C order; otherwise like write_npy().
void write_npy_rows(const std::string& path, const Matrix& matrix, const std::vector<std::size_t>& shape);

}  // namespace apportion
