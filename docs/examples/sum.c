/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sum of a vector: every block adds its part to one variable that StarPU reduces. */
#include <apportion.h>
#include <stdio.h>

enum { n = 1 << 22 };
static double x[n];
static double total; /* what it is before the load counts, too */

static void add_block(void* buffers[], void* arg) {
    const double* part = (const double*)STARPU_VECTOR_GET_PTR(buffers[0]);
    double* sum = (double*)STARPU_VARIABLE_GET_PTR(buffers[1]);
    (void)arg;
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) *sum += part[i];
}

static void set_to_zero(void* buffers[], void* arg) {
    (void)arg;
    *(double*)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}

static void add_sums(void* buffers[], void* arg) {
    (void)arg;
    *(double*)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(double*)STARPU_VARIABLE_GET_PTR(buffers[1]);
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {add_block}, .nbuffers = 2, .modes = {STARPU_R, STARPU_REDUX}, .name = "sum"};
static struct starpu_codelet zero = {.cpu_funcs = {set_to_zero}, .nbuffers = 1, .modes = {STARPU_W}, .name = "zero"};
static struct starpu_codelet add = {
    .cpu_funcs = {add_sums}, .nbuffers = 2, .modes = {STARPU_RW | STARPU_COMMUTE, STARPU_R}, .name = "add"};

/* Block's own data: its part of x. The sum is the application's handle, the same for all blocks. */
static int fill(struct starpu_task* task, struct apportion_block* block, void* total_handle) {
    task->handles[0] = apportion_block_vector(block, STARPU_R, x + block->first, block->units, sizeof *x);
    task->handles[1] = (starpu_data_handle_t)total_handle;
    return 0;
}

int main(void) {
    for (int i = 0; i < n; ++i) x[i] = i % 8;
    if (apportion_init(NULL) != 0) {
        fprintf(stderr, "sum: %s\n", apportion_error());
        return 1;
    }
    starpu_data_handle_t total_handle;
    starpu_variable_data_register(&total_handle, STARPU_MAIN_RAM, (uintptr_t)&total, sizeof total);
    starpu_data_set_reduction_methods(total_handle, &add, &zero);

    struct apportion_load_options options;
    apportion_load_options_init(&options);
    options.units = n;
    options.codelet = &codelet;
    options.fill = fill;
    options.arg = total_handle;
    struct apportion_load* load = apportion_load_create(&options);
    int failed = !load || apportion_load_submit(load) != 0 || apportion_load_wait(load) != 0;
    if (failed)
        fprintf(stderr, "sum: %s\n", apportion_error());
    else
        printf("policy %s, sum %.0f\n", apportion_load_policy(load),
               total); /* in main memory: no starpu_data_acquire */
    failed |= total != 3.5 * n;
    apportion_load_destroy(load);
    starpu_data_unregister(total_handle);
    apportion_shutdown();
    return failed;
}
