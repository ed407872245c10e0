/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bodies that attract each other: every unit reads all positions, and keeps its speed where it is computed. The
 * codelet's performance model lets simulated machines run it as well. */
#include <apportion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { iterations = 5 };
typedef float four[4]; /* x, y, z, mass */

struct bodies {
    size_t count;
    four *where, *next, *speed;
    starpu_data_handle_t all; /* where, as all blocks read it */
};

static void move(void* buffers[], void* arg) {
    four* all = (four*)STARPU_VECTOR_GET_PTR(buffers[0]);
    four* speed = (four*)STARPU_VECTOR_GET_PTR(buffers[1]);
    four* next = (four*)STARPU_VECTOR_GET_PTR(buffers[2]);
    size_t first = ((const struct apportion_block*)arg)->first, count = STARPU_VECTOR_GET_NX(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[2]); ++i) {
        const float* own = all[first + i];
        for (size_t j = 0; j < count; ++j) {
            float d[3], square = 1e-3f;
            for (int k = 0; k < 3; ++k) d[k] = all[j][k] - own[k], square += d[k] * d[k];
            for (int k = 0; k < 3; ++k) speed[i][k] += 1e-5f * all[j][3] * d[k] / (square * sqrtf(square));
        }
        for (int k = 0; k < 4; ++k) next[i][k] = own[k] + (k < 3 ? 1e-3f * speed[i][k] : 0);
    }
}

/* Microseconds on a worker of a simulated machine: 20 operations for each pair, of so many in a microsecond. */
static double cost(struct starpu_task* task, unsigned worker, unsigned implementation) {
    double pairs = (double)starpu_vector_get_nx(task->handles[0]) * starpu_vector_get_nx(task->handles[2]);
    (void)implementation;
    return 20 * pairs / (starpu_worker_get_type(worker) == STARPU_CUDA_WORKER ? 1e6 : 2e3);
}

static struct starpu_perfmodel model = {.type = STARPU_PER_WORKER, .symbol = "move", .worker_cost_function = cost};
static struct starpu_codelet codelet = {.cpu_funcs = {move},
#ifdef STARPU_SIMGRID
                                        .cuda_funcs = {move}, /* is not called */
#endif
                                        .nbuffers = 3,
                                        .modes = {STARPU_R, STARPU_RW, STARPU_W},
                                        .model = &model,
                                        .name = "move"};

static int fill(struct starpu_task* task, struct apportion_block* block, void* arg) {
    struct bodies* bodies = arg;
    uint64_t first = block->first, units = block->units;
    task->handles[0] = bodies->all;
    task->handles[1] =
        apportion_block_vector(block, STARPU_RW | APPORTION_KEEP, bodies->speed[first], units, sizeof(four));
    task->handles[2] = apportion_block_vector(block, STARPU_W, bodies->next[first], units, sizeof(four));
    return 0;
}

static int iterate(struct apportion_load* load, struct bodies* bodies, double* seconds) {
    for (int k = 0; k < iterations; ++k) {
        int status = apportion_load_submit(load);
        if (status == 0) status = apportion_load_wait(load);
        if (status != 0) return status;
        *seconds += apportion_load_seconds(load);
        /* Devices may have copies of the old positions: StarPU has to know that these are new. */
        starpu_data_acquire(bodies->all, STARPU_W);
        memcpy(bodies->where, bodies->next, bodies->count * sizeof(four));
        starpu_data_release(bodies->all);
    }
    return apportion_load_release(load);
}

int main(int argc, char** argv) {
    struct bodies bodies = {argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, NULL, NULL, NULL, NULL};
    bodies.where = calloc(bodies.count, sizeof(four));
    bodies.next = calloc(bodies.count, sizeof(four));
    bodies.speed = calloc(bodies.count, sizeof(four));
    for (size_t i = 0; i < 4 * bodies.count; ++i) bodies.where[i / 4][i % 4] = rand() / (float)RAND_MAX;
    if (apportion_init(NULL) != 0) {
        fprintf(stderr, "bodies: %s\n", apportion_error());
        return 1;
    }
    starpu_vector_data_register(&bodies.all, STARPU_MAIN_RAM, (uintptr_t)bodies.where, bodies.count, sizeof(four));
    char profile[40]; /* a unit takes as long as there are bodies */
    snprintf(profile, sizeof profile, "bodies-%zu", bodies.count);
    struct apportion_load_options options;
    apportion_load_options_init(&options);
    options.name = "bodies";
    options.profile = profile;
    options.units = bodies.count;
    options.codelet = &codelet;
    options.fill = fill;
    options.arg = &bodies;
    options.runs = iterations;
    options.bytes_per_unit = 2 * sizeof(four);
    options.bytes_shared = bodies.count * sizeof(four);
    struct apportion_load* load = apportion_load_create(&options);
    double seconds = 0;
    int failed = !load || iterate(load, &bodies, &seconds) != 0;
    if (failed) fprintf(stderr, "bodies: %s\n", apportion_error());
    double momentum = 0; /* is 0, as far as rounding goes */
    for (size_t i = 0; i < bodies.count; ++i) momentum += bodies.where[i][3] * bodies.speed[i][0];
    if (!failed) {
        printf("policy %s, %d iterations, %g s\n", apportion_load_policy(load), iterations, seconds);
        failed = fabs(momentum) > 1e-3;
        if (failed) fprintf(stderr, "bodies: the momentum is %g\n", momentum);
    }
    apportion_load_destroy(load);
    starpu_data_unregister(bodies.all);
    apportion_shutdown();
    return failed;
}
