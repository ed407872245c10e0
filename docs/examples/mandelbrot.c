/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mandelbrot's set, a unit a row of points: units are unlike. mandelbrot [POINTS ACROSS [RUNS]] */
#include <apportion.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_steps = 1000 };
static unsigned short* steps; /* until a point is far away, by rows */
static int across = 400;

static unsigned short steps_of(double re, double im) {
    double a = 0, b = 0;
    int k = 0;
    for (; k < most_steps && a * a + b * b < 4; ++k) {
        const double next = a * a - b * b + re;
        b = 2 * a * b + im;
        a = next;
    }
    return (unsigned short)k;
}

static void rows(void* buffers[], void* arg) {
    const struct apportion_block* block = (const struct apportion_block*)arg; /* as fill sets no cl_arg */
    unsigned short* out = (unsigned short*)STARPU_MATRIX_GET_PTR(buffers[0]);
    const size_t ld = STARPU_MATRIX_GET_LD(buffers[0]), count = STARPU_MATRIX_GET_NY(buffers[0]);
    for (size_t row = 0; row < count; ++row)
        for (int i = 0; i < across; ++i)
            out[row * ld + i] = steps_of(-2.2 + 3.2 * i / across, -1.6 + 3.2 * (double)(block->first + row) / across);
}

static struct starpu_codelet codelet = {.cpu_funcs = {rows}, .nbuffers = 1, .modes = {STARPU_W}, .name = "mandelbrot"};

static int fill(struct starpu_task* task, struct apportion_block* block, void* arg) {
    (void)arg;
    task->handles[0] = apportion_block_matrix(block, STARPU_W, steps + block->first * across, across, across,
                                              block->units, sizeof *steps);
    return 0;
}

int main(int argc, char** argv) {
    if (argc > 1) across = atoi(argv[1]);
    const int runs = argc > 2 ? atoi(argv[2]) : 1;
    if (across < 1 || across > 30000 || !(steps = calloc((size_t)across * across, sizeof *steps))) {
        fprintf(stderr, "mandelbrot: 1 to 30000 points across\n");
        return 1;
    }
    if (apportion_init(NULL) != 0) {
        fprintf(stderr, "mandelbrot: %s\n", apportion_error());
        return 1;
    }
    struct apportion_load_options options;
    apportion_load_options_init(&options);
    options.units = across;
    options.codelet = &codelet;
    options.fill = fill;
    struct apportion_load* load = apportion_load_create(&options);
    int failed = !load;
    for (int run = 0; run < runs && !failed; ++run)
        failed = apportion_load_submit(load) != 0 || apportion_load_wait(load) != 0;
    if (failed) {
        fprintf(stderr, "mandelbrot: %s\n", apportion_error());
    } else {
        long inside = 0;
        for (size_t i = 0; i < (size_t)across * across; ++i) inside += steps[i] == most_steps;
        printf("policy %s, %ld points in the set\n", apportion_load_policy(load), inside);
    }
    apportion_load_destroy(load);
    apportion_shutdown();
    free(steps);
    return failed;
}
