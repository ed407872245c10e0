// SPDX-License-Identifier: LGPL-2.1-or-later
//
// StarPU's buffers of the grn codelet as what the kernels take, for CPU and CUDA workers alike.
#pragma once

#include <starpu.h>

#include "codelets/grn/grn_kernels.hpp"

namespace apportion {

inline GrnBlock grn_block(void* buffers[], const GrnParameters& parameters) {
    return {reinterpret_cast<const std::uint64_t*>(STARPU_VECTOR_GET_PTR(buffers[0])),
            reinterpret_cast<const std::uint64_t*>(STARPU_VECTOR_GET_PTR(buffers[2])),
            {reinterpret_cast<const std::int64_t*>(STARPU_VECTOR_GET_PTR(buffers[1])), parameters.samples},
            STARPU_VECTOR_GET_NX(buffers[3]),
            reinterpret_cast<PredictorSet*>(STARPU_VECTOR_GET_PTR(buffers[3]))};
}

}  // namespace apportion
