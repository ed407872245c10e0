// SPDX-License-Identifier: LGPL-2.1-or-later
#include <starpu.h>

#include "codelets/common/handicap.hpp"
#include "codelets/fft2d/fft2d_kernels.hpp"
#include "codelets/fft2d/fft_rows.hpp"

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

}  // namespace apportion
