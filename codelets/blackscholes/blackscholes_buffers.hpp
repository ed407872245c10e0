// SPDX-License-Identifier: LGPL-2.1-or-later
//
// StarPU's buffers of the blackscholes codelet as what the kernels take, for CPU and CUDA workers alike.
#pragma once

#include <starpu.h>

#include "codelets/blackscholes/blackscholes_kernels.hpp"
#include "codelets/common/codelet.hpp"

namespace apportion {

template <class T>
OptionBlock<T> option_block(void* buffers[], const KernelArgument& argument) {
    return {reinterpret_cast<const T*>(STARPU_MATRIX_GET_PTR(buffers[0])),
            STARPU_MATRIX_GET_LD(buffers[0]),
            reinterpret_cast<T*>(STARPU_MATRIX_GET_PTR(buffers[1])),
            STARPU_MATRIX_GET_LD(buffers[1]),
            STARPU_MATRIX_GET_NX(buffers[0]),
            argument.range.first};
}

inline const BlackScholesParameters& blackscholes_parameters(const KernelArgument& argument) {
    return *static_cast<const BlackScholesParameters*>(argument.parameters);
}

}  // namespace apportion
