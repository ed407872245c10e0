/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Heat in a rod over several nodes: stencil.c, whose rod is distributed, with an exchange after each iteration. */
#include <apportion_mpi.h>
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

/* Unit u is the point u + 1, on whichever node. */
static int fill(struct starpu_task* task, struct apportion_block* block, void* arg) {
    struct rod* rod = arg;
    task->handles[0] =
        apportion_block_vector(block, STARPU_R, rod->from + block->first, block->units + 2, sizeof(double));
    task->handles[1] =
        apportion_block_vector(block, STARPU_W, rod->to + block->first + 1, block->units, sizeof(double));
    return 0;
}

/* The rod, of which the next iteration reads a point on either side of those that it computes. */
static struct apportion_mpi_distributed read_by_iterations(const struct rod* rod) {
    struct apportion_mpi_distributed points = {rod->from + 1, sizeof(double), NULL, 1, 0, STARPU_RW};
    return points;
}

static int iterate(struct apportion_mpi_iteration* iteration, struct rod* rod) {
    struct apportion_mpi_distributed points;
    for (int k = 0; k < iterations; ++k) {
        int status = apportion_mpi_iteration_run(iteration);
        if (status != 0) return status;
        double* result = rod->to;
        rod->to = rod->from;
        rod->from = result;
        points = read_by_iterations(rod);
        status = apportion_mpi_iteration_exchange(iteration, &points, 1);
        if (status != 0) return status;
    }
    return apportion_mpi_iteration_collect(iteration, &points, 1);
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
    struct apportion_mpi_iteration* iteration = NULL;
    int failed = apportion_mpi_init(NULL) != 0;
    if (!failed) {
        struct apportion_load_options options;
        apportion_load_options_init(&options);
        options.units = n;
        options.codelet = &codelet;
        options.fill = fill;
        options.arg = &rod;
        options.runs = iterations; /* points move to other nodes when it pays in the iterations to come */
        struct apportion_mpi_distributed points = read_by_iterations(&rod);
        iteration = apportion_mpi_iteration_create(&options, &points, 1);
        failed = !iteration || iterate(iteration, &rod) != 0;
    }
    if (apportion_mpi_rank() == 0) {
        if (failed) fprintf(stderr, "heat_over_nodes: %s\n", apportion_mpi_error());
        if (!failed) {
            int wrong = wrong_points(rod.from);
            printf("%d nodes, %d iterations, last one %g s, %d points wrong\n", apportion_mpi_nodes(), iterations,
                   apportion_mpi_iteration_seconds(iteration), wrong);
            failed = wrong > 0;
        }
    }
    apportion_mpi_iteration_destroy(iteration);
    apportion_mpi_shutdown();
    return failed;
}
