// SPDX-License-Identifier: LGPL-2.1-or-later
// Host code only: cuBLAS is called on StarPU's stream, so that no CUDA compiler is needed.
//
// Limit: arithmetic, from some hundred columns on. An H200 makes 67 TFLOP/s in float and in double (by its tensor
// cores), a T4 8.1 and 0.25; of these 70 to 85 % are expected of cuBLAS. Computed, not measured.
#include <cublas_v2.h>
#include <starpu.h>

#include "codelets/common/device_status.hpp"
#include "codelets/common/device_worker.hpp"
#include "codelets/matmul/matmul_kernels.hpp"

namespace apportion {

namespace {

cublasStatus_t gemm(cublasHandle_t handle, int m, int n, int k, const float* a, int lda, const float* b, int ldb,
                    float* c, int ldc) {
    const float one = 1, zero = 0;
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, lda, b, ldb, &zero, c, ldc);
}

cublasStatus_t gemm(cublasHandle_t handle, int m, int n, int k, const double* a, int lda, const double* b, int ldb,
                    double* c, int ldc) {
    const double one = 1, zero = 0;
    return cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, lda, b, ldb, &zero, c, ldc);
}

template <class T>
void multiply_block(void* a, void* b, void* c) {
    const int m = STARPU_MATRIX_GET_NX(c), n = STARPU_MATRIX_GET_NY(c), k = STARPU_MATRIX_GET_NX(b);
    require(gemm(this_device_worker().blas(), m, n, k, reinterpret_cast<const T*>(STARPU_MATRIX_GET_PTR(a)),
                 STARPU_MATRIX_GET_LD(a), reinterpret_cast<const T*>(STARPU_MATRIX_GET_PTR(b)), STARPU_MATRIX_GET_LD(b),
                 reinterpret_cast<T*>(STARPU_MATRIX_GET_PTR(c)), STARPU_MATRIX_GET_LD(c)),
            sizeof(T) == sizeof(float) ? "cublasSgemm" : "cublasDgemm");
}

}  // namespace

void matmul_cuda(void* buffers[], void*) {
    on_device([&] {
        if (STARPU_MATRIX_GET_ELEMSIZE(buffers[0]) == sizeof(float))
            multiply_block<float>(buffers[0], buffers[1], buffers[2]);
        else
            multiply_block<double>(buffers[0], buffers[1], buffers[2]);
    });
}

}  // namespace apportion
