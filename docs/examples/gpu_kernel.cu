// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gpu_kernel.h"

#include <apportion.h>

static __global__ void axpb(const float* x, float* y, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 3 * x[i] + 1;
}

static cudaError_t launch(const float* x, float* y, unsigned n) {
    constexpr unsigned threads = 256;
    axpb<<<n / threads + 1, threads, 0, starpu_cuda_get_local_stream()>>>(x, y, n);
    const cudaError_t launched = cudaGetLastError();
    return launched == cudaSuccess ? cudaStreamSynchronize(starpu_cuda_get_local_stream()) : launched;
}

void axpb_on_gpu(void* buffers[], void*) {
    const auto* x = reinterpret_cast<const float*>(STARPU_VECTOR_GET_PTR(buffers[0]));
    auto* y = reinterpret_cast<float*>(STARPU_VECTOR_GET_PTR(buffers[1]));
    const cudaError_t status = launch(x, y, STARPU_VECTOR_GET_NX(buffers[0]));
    if (status != cudaSuccess) apportion_block_failed(cudaGetErrorString(status));  // others compute the block
}

int load_kernel(void*) {
    if (starpu_worker_get_type(starpu_worker_get_id()) != STARPU_CUDA_WORKER) return 0;
    return launch(nullptr, nullptr, 0) == cudaSuccess ? 0 : -1;
}
