/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Heat in a rod: iterations of a three-point stencil. The load is one iteration, and is submitted many times. */
#include <apportion.h>
#include <stdio.h>

enum { n = 1 << 20, iterations = 20 };
static double buffers_of_rod[2][n + 2]; /* with a fixed value at either end */

struct rod {
    double *from, *to;
};

static void diffuse(void* buffers[], void* arg) {
    const double* from = (const double*)STARPU_VECTOR_GET_PTR(buffers[0]);
    double* to = (double*)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[1]); ++i)
        to[i] = 0.25 * from[i] + 0.5 * from[i + 1] + 0.25 * from[i + 2];
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {diffuse}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}, .name = "diffuse"};

/* Unit u is the point u + 1. What a block reads overlaps with its neighbours', what it writes does not. */
static int fill(struct starpu_task* task, struct apportion_block* block, void* arg) {
    struct rod* rod = arg;
    task->handles[0] =
        apportion_block_vector(block, STARPU_R, rod->from + block->first, block->units + 2, sizeof(double));
    task->handles[1] =
        apportion_block_vector(block, STARPU_W, rod->to + block->first + 1, block->units, sizeof(double));
    return 0;
}

static int iterate(struct apportion_load* load, struct rod* rod) {
    for (int k = 0; k < iterations; ++k) {
        int status = apportion_load_submit(load);
        if (status == 0) status = apportion_load_wait(load);
        if (status != 0) return status;
        double* result = rod->to;
        rod->to = rod->from;
        rod->from = result;
    }
    return 0;
}

/* The same on one thread: how many points differ from it. */
static int wrong_points(const double* result) {
    static double reference[2][n + 2];
    reference[0][0] = reference[1][0] = 1;
    for (int k = 0; k < iterations; ++k)
        for (int i = 1; i <= n; ++i) {
            const double* from = reference[k % 2];
            reference[1 - k % 2][i] = 0.25 * from[i - 1] + 0.5 * from[i] + 0.25 * from[i + 1];
        }
    int wrong = 0;
    for (int i = 0; i < n + 2; ++i) wrong += result[i] != reference[iterations % 2][i];
    return wrong;
}

int main(void) {
    struct rod rod = {buffers_of_rod[0], buffers_of_rod[1]};
    rod.from[0] = rod.to[0] = 1;
    if (apportion_init(NULL) != 0) {
        fprintf(stderr, "stencil: %s\n", apportion_error());
        return 1;
    }
    struct apportion_load_options options;
    apportion_load_options_init(&options);
    options.units = n;
    options.codelet = &codelet;
    options.fill = fill;
    options.arg = &rod;
    options.runs = iterations; /* a better distribution is taken when it pays in the iterations to come */
    struct apportion_load* load = apportion_load_create(&options);
    int failed = !load || iterate(load, &rod) != 0;
    if (failed) fprintf(stderr, "stencil: %s\n", apportion_error());
    if (!failed) {
        int wrong = wrong_points(rod.from);
        printf("policy %s, %d iterations, last one %g s, %d points wrong\n", apportion_load_policy(load), iterations,
               apportion_load_seconds(load), wrong);
        failed = wrong > 0;
    }
    apportion_load_destroy(load);
    apportion_shutdown();
    return failed;
}
