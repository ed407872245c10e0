/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Power iteration on a sparse matrix: units are its rows, of which the first hundredth are dense, others have few
 * entries or none. The rows stay where they are computed. */
#include <apportion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { iterations = 20 };

struct matrix {
    size_t rows;
    uint64_t* start; /* of each row among the entries, and their number */
    uint32_t* column;
    double *entry, *x, *y; /* y = A x */
    starpu_data_handle_t all_of_x;
};

static void multiply(const uint64_t* start, const uint32_t* column, const double* entry, const double* x, double* y,
                     size_t rows) {
    for (size_t i = 0; i < rows; ++i) {
        y[i] = 0;
        for (uint64_t k = start[i] - start[0]; k < start[i + 1] - start[0]; ++k) y[i] += entry[k] * x[column[k]];
    }
}

static void multiply_block(void* buffers[], void* arg) {
    (void)arg;
    multiply((const uint64_t*)STARPU_VECTOR_GET_PTR(buffers[1]), (const uint32_t*)STARPU_VECTOR_GET_PTR(buffers[2]),
             (const double*)STARPU_VECTOR_GET_PTR(buffers[3]), (const double*)STARPU_VECTOR_GET_PTR(buffers[0]),
             (double*)STARPU_VECTOR_GET_PTR(buffers[4]), STARPU_VECTOR_GET_NX(buffers[4]));
}

/* Microseconds on a worker of a simulated machine. */
static double cost(struct starpu_task* task, unsigned worker, unsigned implementation) {
    double entries = starpu_vector_get_nx(task->handles[2]), rows = starpu_vector_get_nx(task->handles[4]);
    (void)implementation;
    return starpu_worker_get_type(worker) == STARPU_CUDA_WORKER ? 10 + entries / 5e3 + rows / 1e5
                                                                : entries / 3e2 + rows / 1e3;
}

static struct starpu_perfmodel model = {.type = STARPU_PER_WORKER, .symbol = "sparse", .worker_cost_function = cost};
static struct starpu_codelet codelet = {.cpu_funcs = {multiply_block},
#ifdef STARPU_SIMGRID
                                        .cuda_funcs = {multiply_block}, /* is not called */
#endif
                                        .nbuffers = 5,
                                        .modes = {STARPU_R, STARPU_R, STARPU_R, STARPU_R, STARPU_W},
                                        .model = &model,
                                        .name = "sparse"};

static int fill(struct starpu_task* task, struct apportion_block* block, void* arg) {
    struct matrix* a = arg;
    uint64_t first = block->first, rows = block->units, from = a->start[first], entries = a->start[first + rows] - from;
    int stays = STARPU_R | APPORTION_KEEP;
    task->handles[0] = a->all_of_x;
    task->handles[1] = apportion_block_vector(block, stays, a->start + first, rows + 1, sizeof *a->start);
    task->handles[2] = apportion_block_vector(block, stays, a->column + from, entries, sizeof *a->column);
    task->handles[3] = apportion_block_vector(block, stays, a->entry + from, entries, sizeof *a->entry);
    task->handles[4] = apportion_block_vector(block, STARPU_W, a->y + first, rows, sizeof *a->y);
    return 0;
}

static void* room(size_t count, size_t size) {
    void* its = calloc(count, size);
    if (its) return its;
    fprintf(stderr, "sparse: no memory for %zu values\n", count);
    exit(1);
}

static struct matrix make_matrix(size_t rows) {
    struct matrix a = {.rows = rows, .start = room(rows + 1, sizeof *a.start)};
    for (size_t i = 0; i < rows; ++i) {
        double part = (rand() + 1.0) / (RAND_MAX + 1.0);
        size_t entries = i < rows / 100 ? rows / 10 : i % 3 == 2 ? 0 : (size_t)(4 / pow(part, 0.7));
        a.start[i + 1] = a.start[i] + (entries < rows ? entries : rows);
    }
    a.column = room(a.start[rows] + 1, sizeof *a.column);
    a.entry = room(a.start[rows] + 1, sizeof *a.entry);
    for (size_t k = 0; k < a.start[rows]; ++k) a.column[k] = rand() % rows, a.entry[k] = rand() / (double)RAND_MAX;
    a.x = room(rows, sizeof *a.x);
    a.y = room(rows, sizeof *a.y);
    for (size_t i = 0; i < rows; ++i) a.x[i] = 1;
    return a;
}

static void normalise(double* x, const double* y, size_t rows) {
    double square = 0;
    for (size_t i = 0; i < rows; ++i) square += y[i] * y[i];
    for (size_t i = 0; i < rows; ++i) x[i] = square > 0 ? y[i] / sqrt(square) : 0;
}

static int iterate(struct apportion_load* load, struct matrix* a, double* seconds) {
    for (int k = 0; k < iterations; ++k) {
        int status = apportion_load_submit(load);
        if (status == 0) status = apportion_load_wait(load);
        if (status != 0) return status;
        *seconds += apportion_load_seconds(load);
        starpu_data_acquire(a->all_of_x, STARPU_W);
        normalise(a->x, a->y, a->rows);
        starpu_data_release(a->all_of_x);
    }
    return 0;
}

/* The same on one thread: how many values differ from it. */
static size_t wrong_values(const struct matrix* a) {
    size_t wrong = 0;
    double *x = room(a->rows, sizeof *x), *y = room(a->rows, sizeof *y);
    for (size_t i = 0; i < a->rows; ++i) x[i] = 1;
    for (int k = 0; k < iterations; ++k) {
        multiply(a->start, a->column, a->entry, x, y, a->rows);
        normalise(x, y, a->rows);
    }
    for (size_t i = 0; i < a->rows; ++i) wrong += x[i] != a->x[i];
    free(x), free(y);
    return wrong;
}

int main(int argc, char** argv) {
    long rows = argc > 1 ? strtol(argv[1], NULL, 10) : 5000;
    if (rows < 1) {
        fprintf(stderr, "sparse: %s is no number of rows\n", argv[1]);
        return 2;
    }
    struct matrix a = make_matrix((size_t)rows);
    if (apportion_init(NULL) != 0) {
        fprintf(stderr, "sparse: %s\n", apportion_error());
        return 1;
    }
    starpu_vector_data_register(&a.all_of_x, STARPU_MAIN_RAM, (uintptr_t)a.x, a.rows, sizeof *a.x);
    struct apportion_load_options options;
    apportion_load_options_init(&options);
    options.units = a.rows;
    options.codelet = &codelet;
    options.fill = fill;
    options.arg = &a;
    options.runs = iterations;
    options.bytes_per_unit = 16 + a.start[a.rows] * 12 / a.rows;
    options.bytes_shared = a.rows * sizeof *a.x;
    struct apportion_load* load = apportion_load_create(&options);
    double seconds = 0;
    int failed = !load || iterate(load, &a, &seconds) != 0;
    if (failed) fprintf(stderr, "sparse: %s\n", apportion_error());
    if (!failed) {
        printf("policy %s, %d iterations, %.2g s", apportion_load_policy(load), iterations, seconds);
#ifdef STARPU_SIMGRID
        printf("\n"); /* nothing was computed */
#else
        size_t wrong = wrong_values(&a);
        printf(", %zu values wrong\n", wrong);
        failed = wrong > 0;
#endif
    }
    apportion_load_destroy(load);
    starpu_data_unregister(a.all_of_x);
    apportion_shutdown();
    free(a.start), free(a.column), free(a.entry), free(a.x), free(a.y);
    return failed;
}
