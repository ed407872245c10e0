/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A kernel for `apportion profile --kernel`: the 2-D discrete Fourier transform by FFTW. The problem is a matrix of
 * complex numbers with `size` columns, one unit is one of its rows; x units are a transform of x rows by `size`
 * columns, in place.
 *
 *     cc -shared -fPIC -o libfftw_kernel.so fftw_kernel.c -lfftw3
 *     apportion profile --kernel ./libfftw_kernel.so --size 1024 --sizes 16:1024:16 --out fft.csv
 */
#include <errno.h>
#include <fftw3.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "apportion_kernel.h"

#ifndef FFTW_FLAGS /* -DFFTW_FLAGS=FFTW_MEASURE makes another variant of the kernel */
#define FFTW_FLAGS FFTW_ESTIMATE
#endif

struct transform {
    uint64_t columns;
    fftw_complex* data;
    fftw_plan plan;
};

/* FFTW's planner is the one part of it that threads must not enter together. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static void forget(struct transform* t) {
    pthread_mutex_lock(&planner);
    if (t->plan) fftw_destroy_plan(t->plan);
    pthread_mutex_unlock(&planner);
    fftw_free(t->data);
    t->plan = NULL;
    t->data = NULL;
}

static int set_up(uint64_t size, unsigned processor, void** state) {
    struct transform* t = calloc(1, sizeof *t);
    (void)processor;
    if (!t) return -ENOMEM;
    t->columns = size;
    *state = t;
    return 0;
}

static int prepare(void* state, uint64_t rows) {
    struct transform* t = state;
    size_t elements;
    if (rows > INT_MAX || t->columns > INT_MAX) return -EINVAL; /* as FFTW counts */
    elements = (size_t)(rows * t->columns);
    forget(t);
    t->data = fftw_alloc_complex(elements);
    if (!t->data) return -ENOMEM;
    pthread_mutex_lock(&planner);
    t->plan = fftw_plan_dft_2d((int)rows, (int)t->columns, t->data, t->data, FFTW_FORWARD, FFTW_FLAGS);
    pthread_mutex_unlock(&planner);
    /* Zeros stay zeros however often they are transformed; other numbers would overflow. */
    memset(t->data, 0, elements * sizeof *t->data);
    return t->plan ? 0 : -EINVAL;
}

static int run(void* state, uint64_t rows) {
    struct transform* t = state;
    (void)rows; /* those of the plan */
    fftw_execute(t->plan);
    return 0;
}

static void tear_down(void* state) {
    forget(state);
    free(state);
}

const struct apportion_kernel* apportion_kernel(void) {
    static const struct apportion_kernel kernel = {
        .version = APPORTION_KERNEL_VERSION,
        .name = "fftw-2d",
        .unit = "row",
        .set_up = set_up,
        .prepare = prepare,
        .run = run,
        .tear_down = tear_down,
    };
    return &kernel;
}
