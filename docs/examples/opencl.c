/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* y = 3 x + 1 on CPU cores and OpenCL devices. */
#include <apportion.h>
#include <stdio.h>

enum { n = 1 << 22 };
static float x[n], y[n];

/* A handle's data lie at an offset in a buffer, as blocks may share one. */
static const char source[] =
    "kernel void axpb(global const char* x, ulong x_offset, global char* y, ulong y_offset, ulong elements) {\n"
    "    global const float* in = (global const float*)(x + x_offset);\n"
    "    global float* out = (global float*)(y + y_offset);\n"
    "    size_t i = get_global_id(0);\n"
    "    if (i < elements) out[i] = 3 * in[i] + 1;\n"
    "}\n";
static struct starpu_opencl_program program;

static void axpb_on_cpu(void* buffers[], void* arg) {
    const float* in = (const float*)STARPU_VECTOR_GET_PTR(buffers[0]);
    float* out = (float*)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) out[i] = 3 * in[i] + 1;
}

static void axpb_on_opencl(void* buffers[], void* arg) {
    cl_kernel kernel;
    cl_command_queue queue;
    cl_mem in = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]);
    cl_mem out = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[1]);
    cl_ulong in_offset = STARPU_VECTOR_GET_OFFSET(buffers[0]), out_offset = STARPU_VECTOR_GET_OFFSET(buffers[1]);
    cl_ulong elements = STARPU_VECTOR_GET_NX(buffers[0]);
    size_t threads = (elements + 63) / 64 * 64, group = 64;
    (void)arg;
    cl_int error =
        starpu_opencl_load_kernel(&kernel, &queue, &program, "axpb", starpu_worker_get_devid(starpu_worker_get_id()));
    const int loaded = error == CL_SUCCESS;
    if (error == CL_SUCCESS) error = clSetKernelArg(kernel, 0, sizeof in, &in);
    if (error == CL_SUCCESS) error = clSetKernelArg(kernel, 1, sizeof in_offset, &in_offset);
    if (error == CL_SUCCESS) error = clSetKernelArg(kernel, 2, sizeof out, &out);
    if (error == CL_SUCCESS) error = clSetKernelArg(kernel, 3, sizeof out_offset, &out_offset);
    if (error == CL_SUCCESS) error = clSetKernelArg(kernel, 4, sizeof elements, &elements);
    if (error == CL_SUCCESS) error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &threads, &group, 0, NULL, NULL);
    if (error == CL_SUCCESS) error = clFinish(queue); /* without STARPU_OPENCL_ASYNC the block must be computed now */
    if (loaded) starpu_opencl_release_kernel(kernel);
    if (error != CL_SUCCESS) apportion_block_failed(starpu_opencl_error_string(error)); /* others compute the block */
}

static struct starpu_codelet codelet = {.cpu_funcs = {axpb_on_cpu},
                                        .opencl_funcs = {axpb_on_opencl},
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
        fprintf(stderr, "opencl: %s\n", apportion_error());
        return 1;
    }
    starpu_opencl_load_opencl_from_string(source, &program, NULL);
    struct apportion_load_options options;
    apportion_load_options_init(&options);
    options.units = n;
    options.codelet = &codelet;
    options.fill = fill;
    options.bytes_per_unit = 2 * sizeof(float); /* bounds the blocks in a device's memory */
    struct apportion_load* load = apportion_load_create(&options);
    int failed = !load || apportion_load_submit(load) != 0 || apportion_load_wait(load) != 0;
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += y[i] != 3 * x[i] + 1;
    if (failed)
        fprintf(stderr, "opencl: %s\n", apportion_error());
    else
        printf("policy %s, %d values wrong\n", apportion_load_policy(load), wrong);
    apportion_load_destroy(load);          /* waits for devices whose blocks others have computed ... */
    starpu_opencl_unload_opencl(&program); /* ... so the program goes after it */
    apportion_shutdown();
    return failed || wrong;
}
