// SPDX-License-Identifier: LGPL-2.1-or-later
#include <starpu.h>

#include <algorithm>
#include <bit>

#include "codelets/fft2d_kernels.hpp"
#include "codelets/fft_rows.hpp"
#include "codelets/handicap.hpp"

namespace apportion {

void fft2d_cpu(void* buffers[], void* arg) {
    FftRows& rows = *static_cast<const Fft2dParameters*>(arg)->cpu;
    void* const in = buffers[0];
    void* const out = buffers[1];
    for (int repetition = repetitions(); repetition > 0; --repetition)
        rows.run(starpu_worker_get_id(), reinterpret_cast<const void*>(STARPU_MATRIX_GET_PTR(in)),
                 STARPU_MATRIX_GET_LD(in), reinterpret_cast<void*>(STARPU_MATRIX_GET_PTR(out)),
                 STARPU_MATRIX_GET_LD(out), STARPU_MATRIX_GET_NY(in));
}

std::size_t fft2d_device_batch(std::size_t length, std::size_t element_bytes) {
    constexpr std::size_t kScratch_bytes = 64 << 20;
    return std::bit_floor(std::max<std::size_t>(kScratch_bytes / (length * element_bytes), 1));
}

std::uint64_t fft2d_device_bytes_per_row(std::size_t length, std::size_t element_bytes) {
    return 2 * length * element_bytes;
}

std::uint64_t fft2d_device_bytes(std::size_t length, std::size_t element_bytes) {
    // cuFFT's work area is as large as a batch, twice that and more for lengths with large prime factors.
    constexpr std::uint64_t kBatches = 4;
    return kBatches * fft2d_device_batch(length, element_bytes) * length * element_bytes;
}

}  // namespace apportion
