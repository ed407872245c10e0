// SPDX-License-Identifier: LGPL-2.1-or-later
//
// NumPy's .npy files: matrices of float32 and float64 in C or Fortran order, format versions 1 to 3, as described in
// NumPy's "NEP 1". Debian packages no library for it but xtensor's, which accepts truncated files. The reader is
// strict: whatever is not exactly such a matrix throws std::runtime_error with a sentence that names the file.
#pragma once

#include <cstddef>
#include <string>

#include "codelets/matrix.hpp"

namespace apportion {

struct NpyHeader {
    ElementType type = ElementType::float32;
    bool fortran_order = false;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t data_offset = 0;
};

/// Reads the header and checks that the file has exactly the bytes it announces.
NpyHeader read_npy_header(const std::string& path);

/// Reads a whole matrix.
Matrix read_npy(const std::string& path);

/// Writes in Fortran order (the matrix's own), into a temporary file beside `path` that then replaces it.
void write_npy(const std::string& path, const Matrix& matrix);

}  // namespace apportion
