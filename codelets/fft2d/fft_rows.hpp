// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Discrete Fourier transforms of matrix rows on CPU workers, stored as columns: out[j][i] = scale * sum over k of
// in[i][k] exp(-+2 pi i jk / length). What one pass of a two-dimensional transform does with its rows, so that no
// separate transposition touches the matrix.
//
// Rows go through a scratch buffer that stays in the second-level cache, a batch at a time: FFTW transforms the batch,
// and it is written to its columns by whole cache lines, past the caches where the matrix is large. Batches have 2^k
// rows, up to a full one; the last rows of a block take one smaller batch for each bit of their number. Hence few plans
// are needed whatever the blocks, and all are made in the constructor: FFTW's planner must not be entered by two
// threads, and no block waits for it.
//
// Measured plans are remembered as FFTW's wisdom in the user's cache folder, one file per host.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "codelets/common/matrix.hpp"

namespace apportion {

/// How much effort FFTW spends on plans.
enum class FftPlanning {
    estimate,  ///< plans by a heuristic, in microseconds
    measure    ///< times several plans, in seconds at most for rows of ordinary length
};

class FftRows {
  public:
    virtual ~FftRows() = default;

    /// Transforms `rows` rows, in_ld elements apart, into as many columns of a matrix with out_ld elements from row to
    /// row. Workers may call it at the same time, each with its own number >= 0. In and out do not overlap.
    virtual void run(int worker, const void* in, std::size_t in_ld, void* out, std::size_t out_ld,
                     std::size_t rows) = 0;

    /// Rows of a full batch.
    virtual std::size_t batch() const = 0;
};

struct FftRowsOptions {
    ElementType type = ElementType::complex128;
    std::size_t length = 0;  ///< of a row
    std::size_t in_ld = 0;   ///< that blocks in main memory have; others are computed as well, more slowly
    bool inverse = false;    ///< exp(+...), and scale = 1 / length instead of 1
    FftPlanning planning = FftPlanning::measure;
    unsigned workers = 1;  ///< numbers 0 ... workers - 1
};

/// Makes the plans. Throws std::runtime_error when FFTW cannot.
std::unique_ptr<FftRows> make_fft_rows(const FftRowsOptions& options);

/// Where wisdom is kept: `name`-HOST in cache_folder(). Throws FileError.
std::string fft_wisdom_file(const std::string& name);

}  // namespace apportion
