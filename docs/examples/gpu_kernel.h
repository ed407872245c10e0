/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CUDA part of gpu.c. */
#ifdef __cplusplus
extern "C" {
#endif

/** The codelet's function for GPUs: y = 3 x + 1. */
void axpb_on_gpu(void* buffers[], void* arg);

/** For apportion_load_options.warm_up: loads the kernel on the calling worker's GPU, if it has one. */
int load_kernel(void* arg);

#ifdef __cplusplus
}
#endif
