/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A vector scaled in place, twice: in blocks of a number that the program fixes (starpu_data_partition), and as a load.
 */
#include <apportion.h>
#include <stdio.h>

enum { n = 1 << 20, parts = 16 };
static float x[n];

static void scale(void* buffers[], void* arg) {
    float* v = (float*)STARPU_VECTOR_GET_PTR(buffers[0]);
    (void)arg;
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) v[i] *= 2;
}

static struct starpu_codelet codelet = {.cpu_funcs = {scale}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "scale"};

static void with_partition(void) {
    starpu_data_handle_t handle;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)x, n, sizeof *x);
    struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block, .nchildren = parts};
    starpu_data_partition(handle, &filter);
    for (int i = 0; i < parts; ++i) starpu_task_insert(&codelet, STARPU_RW, starpu_data_get_sub_data(handle, 1, i), 0);
    starpu_task_wait_for_all();
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    starpu_data_unregister(handle);
}

static int fill(struct starpu_task* task, struct apportion_block* block, void* arg) {
    (void)arg;
    task->handles[0] = apportion_block_vector(block, STARPU_RW, x + block->first, block->units, sizeof *x);
    return 0;
}

static int with_load(void) {
    struct apportion_load_options options;
    apportion_load_options_init(&options);
    options.units = n;
    options.codelet = &codelet;
    options.fill = fill;
    struct apportion_load* load = apportion_load_create(&options);
    int failed = !load || apportion_load_submit(load) != 0 || apportion_load_wait(load) != 0;
    if (failed) fprintf(stderr, "partition: %s\n", apportion_error());
    apportion_load_destroy(load);
    return failed;
}

int main(void) {
    for (int i = 0; i < n; ++i) x[i] = (float)(i % 100);
    if (apportion_init(NULL) != 0) {
        fprintf(stderr, "partition: %s\n", apportion_error());
        return 1;
    }
    with_partition();
    int failed = with_load();
    for (int i = 0; i < n; ++i) failed |= x[i] != 4 * (float)(i % 100);
    apportion_shutdown();
    puts(failed ? "wrong" : "right");
    return failed;
}
