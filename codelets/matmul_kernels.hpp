// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernels of the matmul codelet: buffers are a panel of A, columns of B and the panel's rows of C, in this order,
// StarPU matrices whose first dimension is the contiguous one. The element's size tells float from double.
#pragma once

namespace apportion {

/// One thread of OpenBLAS.
void matmul_cpu(void* buffers[], void* arg);

/// Makes OpenBLAS calls single-threaded: StarPU runs one on each core already.
void use_one_blas_thread();

#ifdef APPORTION_CUDA
/// cuBLAS, asynchronous on the worker's stream.
void matmul_cuda(void* buffers[], void* arg);
#endif

}  // namespace apportion
