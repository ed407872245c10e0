// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernels of the fft2d codelet: buffers are rows of the pass's input and columns of its output, StarPU matrices
// whose first dimension is the contiguous one; cl_arg is an Fft2dParameters. The element's size tells
// complex64 from complex128.
#pragma once

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

/// Device memory that a row of a block takes (the rows, their columns), and a worker beside it (scratch rows, cuFFT's
/// work area).
std::uint64_t fft2d_device_bytes_per_row(std::size_t length, std::size_t element_bytes);
std::uint64_t fft2d_device_bytes(std::size_t length, std::size_t element_bytes);

/// Rows that a device transforms by one call: 2^k, with scratch rows of at most 64 MiB.
std::size_t fft2d_device_batch(std::size_t length, std::size_t element_bytes);

#ifdef APPORTION_CUDA
/// cuFFT into scratch rows, cuBLAS's transposition into the columns, asynchronous on the worker's stream.
void fft2d_cuda(void* buffers[], void* arg);

/// Frees what the workers keep from block to block. No block may be running.
void fft2d_cuda_forget_plans();
#endif

}  // namespace apportion
