/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CUDA part of gpu.c, which knows no StarPU. */
#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/** y = 3 x + 1 for n elements in the GPU's memory. Returns when it is done, or what is wrong. */
cudaError_t axpb_on_gpu(const float* x, float* y, unsigned n, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
