// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernels of the matmul codelet: buffers are a panel of A, columns of B and the panel's rows of C, in this order,
// StarPU matrices whose first dimension is the contiguous one. The element's size tells float from double.
#pragma once

#include <cstddef>

namespace apportion {

/// One thread of OpenBLAS. Stores each element of C once, when it is final, if matmul_stores_once.
void matmul_cpu(void* buffers[], void* arg);

/// Whether the inner dimension k is so large that adding up apart and copying, which takes 7 % at 4096, costs little.
constexpr bool matmul_stores_once(std::size_t k) { return k >= 8192; }

/// Makes OpenBLAS calls single-threaded: StarPU runs one on each core already.
void use_one_blas_thread();

#ifdef APPORTION_CUDA
/// cuBLAS, asynchronous on the worker's stream.
void matmul_cuda(void* buffers[], void* arg);
#endif

}  // namespace apportion
