// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernels of the fft2d codelet: buffers are rows of the pass's input and columns of its output, StarPU matrices
// whose first dimension is the contiguous one; cl_arg is an Fft2dParameters. The element's size tells
// complex64 from complex128.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace apportion {

class FftRows;

struct Fft2dParameters {
    FftRows* cpu = nullptr;
    bool inverse = false;
};

/// One thread of FFTW.
void fft2d_cpu(void* buffers[], void* arg);

/// Rows that a device transforms by one call: 2^k, with scratch rows of at most 64 MiB.
inline std::size_t fft2d_device_batch(std::size_t length, std::size_t element_bytes) {
    constexpr std::size_t kScratch_bytes = 64 << 20;
    return std::bit_floor(std::max<std::size_t>(kScratch_bytes / (length * element_bytes), 1));
}

/// Device memory that a row of a block takes (the row, its column), and a worker beside it (scratch rows, cuFFT's work
/// area, which is as large as a batch, twice that and more for lengths with large prime factors).
inline std::uint64_t fft2d_device_bytes_per_row(std::size_t length, std::size_t element_bytes) {
    return 2 * length * element_bytes;
}
inline std::uint64_t fft2d_device_bytes(std::size_t length, std::size_t element_bytes) {
    constexpr std::uint64_t kBatches = 4;
    return kBatches * fft2d_device_batch(length, element_bytes) * length * element_bytes;
}

#ifdef APPORTION_CUDA
/// cuFFT into scratch rows, cuBLAS's transposition into the columns, asynchronous on the worker's stream.
void fft2d_cuda(void* buffers[], void* arg);
#endif

}  // namespace apportion
