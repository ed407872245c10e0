// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The discrete Fourier transform of a complex M x N matrix in two dimensions, the second application of the HPOPTA
// paper (section 6.2.2): transforms of rows, transposition, transforms of rows, transposition. A unit is one row.
//
// There are two loads, one after the other, each of which transforms its rows and writes them as columns of another
// matrix: M rows of N elements into an N x M matrix, then its N rows of M elements into an M x N matrix. Transposing on
// the way to the result means that an element travels to a device and back once per pass, and that no core writes it
// twice. Input and result are different matrices, so that a block can be repeated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "codelets/common/codelet.hpp"
#include "codelets/common/matrix.hpp"
#include "codelets/fft2d/fft_rows.hpp"

namespace apportion {

/// Matrices are stored by rows: row i of the problem's matrix is column i of the Matrix.
struct Fft2dProblem {
    Matrix input;   ///< M rows of N elements: N x M as a Matrix
    Matrix middle;  ///< N rows of M elements
    Matrix output;  ///< M rows of N elements
    bool inverse = false;

    std::size_t rows() const { return input.columns(); }
    std::size_t columns() const { return input.rows(); }
    /// 5 MN log2(MN), as transforms are counted everywhere, whatever they really take.
    double operations() const;
};

/// The problem for this input, with room for the result; `inverse` divides by MN. Throws UserError when
/// memory does not suffice.
Fft2dProblem fft2d_problem(Matrix input, bool inverse = false);

/// Random elements. complex64 or complex128.
Fft2dProblem random_fft2d(ElementType type, std::size_t rows, std::size_t columns, std::uint64_t seed);

enum class Fft2dPass { rows, columns };

/// One pass; FFTW's plans are made here. verify() of the first pass compares `middle` with FFTW's transforms of the
/// rows, that of the second `output` with verify_fft2d(). One workload of each pass may exist at a time.
std::unique_ptr<Workload> make_fft2d_pass(std::shared_ptr<Fft2dProblem> problem, Fft2dPass pass,
                                          FftPlanning planning = FftPlanning::measure);

/// The first pass over an M x N matrix of complex128.
std::unique_ptr<Workload> make_fft2d(const WorkloadOptions& options);

/// Compares problem.output with one plan of FFTW for the whole matrix. The error is the largest of any element
/// relative to the root mean square of all; rounding grows with log2(MN).
Verification verify_fft2d(const Fft2dProblem& problem);

/// Compares problem.middle with FFTW's transforms of the rows of problem.input.
Verification verify_fft2d_rows(const Fft2dProblem& problem);

/// The transform of the whole matrix by one call of FFTW on `threads` threads, planned here and run by the result: the
/// peer that blocks are measured against. Does not divide by MN.
std::function<void()> fft2d_by_one_call(const std::shared_ptr<Fft2dProblem>& problem, int threads,
                                        FftPlanning planning = FftPlanning::measure);

}  // namespace apportion
