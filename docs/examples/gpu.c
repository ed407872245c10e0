/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* y = 3 x + 1 on CPU cores and NVIDIA GPUs; gpu_kernel.cu has what runs on the GPU. */
#include <apportion.h>
#include <errno.h>
#include <stdio.h>

#include "gpu_kernel.h"

enum { n = 1 << 22 };
static float x[n], y[n];

static void axpb_on_cpu(void* buffers[], void* arg) {
    const float* in = (const float*)STARPU_VECTOR_GET_PTR(buffers[0]);
    float* out = (float*)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) out[i] = 3 * in[i] + 1;
}

static void axpb_on_cuda(void* buffers[], void* arg) {
    const float* in = (const float*)STARPU_VECTOR_GET_PTR(buffers[0]);
    float* out = (float*)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    cudaError_t status = axpb_on_gpu(in, out, STARPU_VECTOR_GET_NX(buffers[0]), starpu_cuda_get_local_stream());
    if (status != cudaSuccess) apportion_block_failed(cudaGetErrorString(status)); /* others compute the block */
}

/* Loads the kernel on the calling worker's GPU, if it has one. */
static int load_kernel(void* arg) {
    (void)arg;
    if (starpu_worker_get_type(starpu_worker_get_id()) != STARPU_CUDA_WORKER) return 0;
    return axpb_on_gpu(NULL, NULL, 0, starpu_cuda_get_local_stream()) == cudaSuccess ? 0 : -EIO;
}

static struct starpu_codelet codelet = {.cpu_funcs = {axpb_on_cpu},
                                        .cuda_funcs = {axpb_on_cuda},
                                        .nbuffers = 2,
                                        .modes = {STARPU_R, STARPU_W},
                                        .name = "axpb"};

static int fill(struct starpu_task* task, struct apportion_block* block, void* arg) {
    (void)arg;
    task->handles[0] = apportion_block_vector(block, STARPU_R, x + block->first, block->units, sizeof *x);
    task->handles[1] = apportion_block_vector(block, STARPU_W, y + block->first, block->units, sizeof *y);
    return 0;
}

int main(void) {
    for (int i = 0; i < n; ++i) x[i] = (float)(i % 1000);
    if (apportion_init(NULL) != 0) {
        fprintf(stderr, "gpu: %s\n", apportion_error());
        return 1;
    }
    /* Pinned memory: copies to the GPU run beside its computation. */
    starpu_memory_pin(x, sizeof x);
    starpu_memory_pin(y, sizeof y);
    struct apportion_load_options options;
    apportion_load_options_init(&options);
    options.units = n;
    options.codelet = &codelet;
    options.fill = fill;
    options.bytes_per_unit = 2 * sizeof(float); /* bounds the blocks in a GPU's memory */
    options.warm_up = load_kernel;              /* before anything is timed */
    struct apportion_load* load = apportion_load_create(&options);
    int failed = !load || apportion_load_submit(load) != 0 || apportion_load_wait(load) != 0;
    if (failed)
        fprintf(stderr, "gpu: %s\n", apportion_error());
    else
        puts(apportion_load_report(load));
    for (int i = 0; i < n; ++i) failed |= y[i] != 3 * x[i] + 1;
    apportion_load_destroy(load);
    starpu_memory_unpin(x, sizeof x);
    starpu_memory_unpin(y, sizeof y);
    apportion_shutdown();
    return failed;
}
