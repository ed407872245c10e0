/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A load whose units take ten times as long under equal, and on its first worker twenty times: the blocks of one policy
 * contradict those of the others. */
#include <apportion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { n = 4000, unit_ns = 2000 };
static char done[n];
static int under_equal;

static void sleep_for_units(void* buffers[], void* arg) {
    const size_t units = STARPU_VECTOR_GET_NX(buffers[0]);
    const long factor = !under_equal ? 1 : starpu_worker_get_id() == 0 ? 20 : 10;
    const long ns = (long)units * unit_ns * factor;
    const struct timespec duration = {ns / 1000000000, ns % 1000000000};
    (void)arg;
    nanosleep(&duration, NULL);
    memset((void*)STARPU_VECTOR_GET_PTR(buffers[0]), 1, units);
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {sleep_for_units}, .nbuffers = 1, .modes = {STARPU_W}, .name = "slow_shares"};

static int fill(struct starpu_task* task, struct apportion_block* block, void* arg) {
    (void)arg;
    task->handles[0] = apportion_block_vector(block, STARPU_W, done + block->first, block->units, 1);
    return 0;
}

int main(int argc, char** argv) {
    const size_t units = argc > 1 ? strtoul(argv[1], NULL, 10) : n;
    const char* policy = getenv("STARPU_SCHED");
    under_equal = policy && strcmp(policy, "equal") == 0;
    struct apportion_load_options options;
    struct apportion_load* load = NULL;
    int failed = apportion_init(NULL) != 0;
    if (!failed) {
        apportion_load_options_init(&options);
        options.units = units;
        options.codelet = &codelet;
        options.fill = fill;
        load = apportion_load_create(&options);
        failed = !load || apportion_load_submit(load) != 0 || apportion_load_wait(load) != 0;
    }
    if (failed) fprintf(stderr, "slow_shares: %s\n", apportion_error());
    apportion_load_destroy(load);
    apportion_shutdown();
    return failed || memchr(done, 0, units) != NULL;
}
