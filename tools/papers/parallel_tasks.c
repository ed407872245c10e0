/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What docs/papers/README.md compares: n columns of a product by OpenBLAS, or n rows of a transform by FFTW, each n
 * long, on several cores at once.
 *
 *     parallel_tasks gemm|fft N sequential|forkjoin|spmd [RUNS]
 *
 * sequential: the cores of a group divide each block (APPORTION_GROUPS=all under a policy of Apportion). forkjoin,
 * spmd: StarPU's parallel tasks on its combined workers (STARPU_SCHED=peager or pheft): one core calls the library,
 * which takes as many threads; or each core calls it for its part. Prints the median of the runs' seconds.
 */
#include <apportion.h>
#include <cblas.h>
#include <fftw3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t n;
static int transforms, cores; /* cores: most that computed one task */
static float *a, *b, *c;      /* n x n; of a transform n rows of n / 2 complex elements */

/* Planned before the runs, of all rows that a core or a task may have. */
static struct {
    size_t rows;
    int threads;
    fftwf_plan plan;
} plans[64];
static pthread_mutex_t planning = PTHREAD_MUTEX_INITIALIZER;

static fftwf_plan plan_of(size_t rows, int threads) {
    int k = 0, length = (int)(n / 2);
    pthread_mutex_lock(&planning);
    const int most = sizeof plans / sizeof *plans - 1; /* more are planned again */
    while (k < most && plans[k].rows && (plans[k].rows != rows || plans[k].threads != threads)) ++k;
    if (plans[k].rows != rows || plans[k].threads != threads) {
        fftwf_plan_with_nthreads(threads);
        fftwf_complex *in = (fftwf_complex*)b, *out = (fftwf_complex*)c;
        plans[k].plan = fftwf_plan_many_dft(1, &length, (int)rows, in, NULL, 1, length, out, NULL, 1, length,
                                            FFTW_FORWARD, FFTW_ESTIMATE | FFTW_UNALIGNED);
        plans[k].threads = threads;
        plans[k].rows = rows;
    }
    pthread_mutex_unlock(&planning);
    return plans[k].plan;
}

static void compute(float* from, float* to, size_t units, int threads) {
    if (units == 0) return;
    if (transforms) {
        fftwf_execute_dft(plan_of(units, threads), (fftwf_complex*)from, (fftwf_complex*)to);
        return;
    }
    if (openblas_get_num_threads() != threads) openblas_set_num_threads(threads);
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)units, (int)n, 1, a, (int)n, from, (int)n, 0,
                to, (int)n);
}

static void block(void* buffers[], void* spmd) {
    float *from = (float*)STARPU_VECTOR_GET_PTR(buffers[0]), *to = (float*)STARPU_VECTOR_GET_PTR(buffers[1]);
    const size_t units = STARPU_VECTOR_GET_NX(buffers[0]) / n;
    const int workers = starpu_combined_worker_get_size();
    if (workers > cores) cores = workers;
    if (!spmd) {
        compute(from, to, units, workers);
        return;
    }
    const size_t rank = (size_t)starpu_combined_worker_get_rank(), first = units * rank / (size_t)workers;
    compute(from + first * n, to + first * n, units * (rank + 1) / (size_t)workers - first, 1);
}

static struct starpu_perfmodel model = {.type = STARPU_HISTORY_BASED};
static struct starpu_codelet codelet = {
    .cpu_funcs = {block}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}, .model = &model, .max_parallelism = 1 << 10};

static int fill(struct starpu_task* task, struct apportion_block* block, void* spmd) {
    task->handles[0] = apportion_block_vector(block, STARPU_R, b + block->first * n, block->units * n, sizeof *b);
    task->handles[1] = apportion_block_vector(block, STARPU_W, c + block->first * n, block->units * n, sizeof *c);
    task->cl_arg = spmd;
    return 0;
}

static int ascending(const void* x, const void* y) {
    const double difference = *(const double*)x - *(const double*)y;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char** argv) {
    n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    transforms = argc > 1 && strcmp(argv[1], "fft") == 0;
    const int spmd = argc > 3 && strcmp(argv[3], "spmd") == 0, forkjoin = argc > 3 && strcmp(argv[3], "forkjoin") == 0;
    const int runs = argc > 4 ? atoi(argv[4]) : 11;
    if (argc < 4 || (!transforms && strcmp(argv[1], "gemm")) || (!spmd && !forkjoin && strcmp(argv[3], "sequential")) ||
        n < 2 || runs < 1)
        return fprintf(stderr, "parallel_tasks gemm|fft N sequential|forkjoin|spmd [RUNS]\n"), 2;
    codelet.type = spmd ? STARPU_SPMD : forkjoin ? STARPU_FORKJOIN : STARPU_SEQ;
    codelet.name = model.symbol = transforms ? "fft rows" : "gemm columns";
    fftwf_init_threads();
    openblas_set_num_threads(1);
    float** const arrays[] = {&a, &b, &c};
    for (int k = 0; k < 3; ++k) {
        *arrays[k] = (float*)malloc(n * n * sizeof(float));
        if (!*arrays[k]) return fprintf(stderr, "parallel_tasks: no memory\n"), 1;
        for (size_t i = 0; i < n * n; ++i) (*arrays[k])[i] = (float)(i % 7);
    }
    if (apportion_init(NULL) != 0) return fprintf(stderr, "parallel_tasks: %s\n", apportion_error()), 1;
    struct apportion_load_options options;
    apportion_load_options_init(&options);
    options.units = n;
    options.codelet = &codelet;
    options.fill = fill;
    options.arg = spmd ? &codelet : NULL;
    struct apportion_load* load = apportion_load_create(&options);
    double* seconds = (double*)calloc((size_t)runs, sizeof *seconds);
    if (!load || !seconds) return fprintf(stderr, "parallel_tasks: %s\n", load ? "no memory" : apportion_error()), 1;
    const int warm_up = 12; /* runs until a history of StarPU is believed */
    for (int run = -warm_up; run < runs; ++run) {
        if (apportion_load_submit(load) != 0 || apportion_load_wait(load) != 0)
            return fprintf(stderr, "parallel_tasks: %s\n", apportion_error()), 1;
        if (run >= 0) seconds[run] = apportion_load_seconds(load);
    }
    qsort(seconds, (size_t)runs, sizeof *seconds, ascending);
    printf("%.6f s, tasks of %d cores\n", seconds[runs / 2], cores);
    apportion_load_destroy(load);
    apportion_shutdown();
    return 0;
}
