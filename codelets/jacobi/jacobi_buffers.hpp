// SPDX-License-Identifier: LGPL-2.1-or-later
//
// StarPU's buffers of the Jacobi codelets as what the kernels take, for CPU and CUDA workers alike.
#pragma once

#include <starpu.h>

#include "codelets/jacobi/jacobi_kernels.hpp"

namespace apportion {

template <class T>
T* vector_of(void* buffer) {
    return reinterpret_cast<T*>(STARPU_VECTOR_GET_PTR(buffer));
}

template <class T>
DenseRows<T> dense_rows(void* buffers[]) {
    return {.a = reinterpret_cast<const T*>(STARPU_MATRIX_GET_PTR(buffers[0])),
            .ld = STARPU_MATRIX_GET_LD(buffers[0]),
            .rows = STARPU_MATRIX_GET_NY(buffers[0]),
            .n = STARPU_MATRIX_GET_NX(buffers[0]),
            .terms = vector_of<JacobiTerms<T>>(buffers[1]),
            .x = vector_of<T>(buffers[2]),
            .x_old = vector_of<T>(buffers[3]),
            .x_new = vector_of<T>(buffers[4]),
            .change = vector_of<JacobiChange<T>>(buffers[5])};
}

inline SparseRows sparse_rows(void* buffers[]) {
    return {.start = vector_of<std::int64_t>(buffers[0]),
            .columns = vector_of<std::int32_t>(buffers[1]),
            .values = vector_of<double>(buffers[2]),
            .rows = STARPU_VECTOR_GET_NX(buffers[3]),
            .terms = vector_of<JacobiTerms<double>>(buffers[3]),
            .x = vector_of<double>(buffers[4]),
            .x_old = vector_of<double>(buffers[5]),
            .x_new = vector_of<double>(buffers[6]),
            .change = vector_of<JacobiChange<double>>(buffers[7])};
}

template <class T>
BatchSystems<T> batch_systems(void* buffers[], void* arg) {
    const std::size_t n = STARPU_MATRIX_GET_NX(buffers[1]);
    return {.a = reinterpret_cast<const T*>(STARPU_MATRIX_GET_PTR(buffers[0])),
            .a_ld = STARPU_MATRIX_GET_LD(buffers[0]),
            .b = reinterpret_cast<const T*>(STARPU_MATRIX_GET_PTR(buffers[1])),
            .b_ld = STARPU_MATRIX_GET_LD(buffers[1]),
            .x = reinterpret_cast<T*>(STARPU_MATRIX_GET_PTR(buffers[2])),
            .x_ld = STARPU_MATRIX_GET_LD(buffers[2]),
            .n = n,
            .systems = STARPU_MATRIX_GET_NY(buffers[1]),
            .iterations = *static_cast<const std::uint64_t*>(arg)};
}

}  // namespace apportion
