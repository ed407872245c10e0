// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gpu_kernel.h"

static __global__ void axpb(const float* x, float* y, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 3 * x[i] + 1;
}

cudaError_t axpb_on_gpu(const float* x, float* y, unsigned n, cudaStream_t stream) {
    constexpr unsigned threads = 256;
    axpb<<<n / threads + 1, threads, 0, stream>>>(x, y, n);
    const cudaError_t launched = cudaGetLastError();
    return launched == cudaSuccess ? cudaStreamSynchronize(stream) : launched;
}
