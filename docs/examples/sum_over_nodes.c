/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sum of a matrix's elements over several nodes: a unit is a row, and leaves the sum of its own. */
#include <apportion_mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 2000, columns = 1000 };

struct matrix {
    int* elements; /* only rank 0 fills them; a node gets the rows that it computes */
    long* sums;    /* of rows; all of them are on rank 0 when the load has run */
};

static void add_rows(void* buffers[], void* arg) {
    const int* elements = (const int*)STARPU_VECTOR_GET_PTR(buffers[0]);
    long* sums = (long*)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    for (size_t row = 0; row < STARPU_VECTOR_GET_NX(buffers[1]); ++row) {
        sums[row] = 0;
        for (size_t column = 0; column < columns; ++column) sums[row] += elements[row * columns + column];
    }
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {add_rows}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}, .name = "add_rows"};

/* The same on every node. */
static int fill(struct starpu_task* task, struct apportion_block* block, void* arg) {
    struct matrix* matrix = arg;
    task->handles[0] = apportion_block_vector(block, STARPU_R, matrix->elements + block->first * columns,
                                              block->units * columns, sizeof(int));
    task->handles[1] = apportion_block_vector(block, STARPU_W, matrix->sums + block->first, block->units, sizeof(long));
    return 0;
}

int main(void) {
    struct matrix matrix = {malloc(sizeof(int) * rows * columns), malloc(sizeof(long) * rows)};
    struct apportion_mpi_load* load = NULL;
    int failed = !matrix.elements || !matrix.sums || apportion_mpi_init(NULL) != 0;
    if (!failed) {
        if (apportion_mpi_rank() == 0)
            for (int i = 0; i < rows * columns; ++i) matrix.elements[i] = i % 7;
        struct apportion_load_options options;
        apportion_load_options_init(&options);
        options.units = rows;
        options.codelet = &codelet;
        options.fill = fill;
        options.arg = &matrix;
        const struct apportion_mpi_array arrays[] = {{matrix.elements, sizeof(int) * columns, 1, 0, STARPU_R},
                                                     {matrix.sums, sizeof(long), 1, 0, STARPU_W}};
        load = apportion_mpi_load_create(&options, arrays, 2);
        failed = !load || apportion_mpi_load_run(load) != 0;
    }
    if (apportion_mpi_rank() == 0) {
        if (failed) fprintf(stderr, "sum_over_nodes: %s\n", apportion_mpi_error());
        if (!failed) {
            long sum = 0;
            for (int row = 0; row < rows; ++row) sum += matrix.sums[row];
            printf("%d nodes, %g s, sum %ld\n", apportion_mpi_nodes(), apportion_mpi_load_seconds(load), sum);
        }
    }
    apportion_mpi_load_destroy(load);
    apportion_mpi_shutdown();
    free(matrix.sums);
    free(matrix.elements);
    return failed;
}
