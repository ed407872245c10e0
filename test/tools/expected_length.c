/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* expected_length SYMBOL footprint|size UNITS: what StarPU under dmda expects a task of so many units to take on a CPU
 * [us], from the history model of SYMBOL. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t units;

static uint32_t footprint(struct starpu_task* task) {
    (void)task;
    return (uint32_t)units;
}

/* 8 bytes per unit and 1000 besides. */
static size_t size_base(struct starpu_task* task, unsigned nimpl) {
    (void)task;
    (void)nimpl;
    return 8 * units + 1000;
}

static void kernel(void* buffers[], void* arg) {
    (void)buffers;
    (void)arg;
}

int main(int argc, char** argv) {
    struct starpu_perfmodel model = {.type = STARPU_HISTORY_BASED};
    struct starpu_codelet codelet = {.cpu_funcs = {kernel}, .nbuffers = 0, .model = &model};
    struct starpu_task* task;
    double expected_us;
    if (argc != 4) return 2;
    model.symbol = argv[1];
    if (strcmp(argv[2], "footprint") == 0)
        model.footprint = footprint;
    else
        model.size_base = size_base;
    units = strtoull(argv[3], NULL, 10);
    if (starpu_init(NULL) != 0) return 77;
    task = starpu_task_create();
    task->cl = &codelet;
    task->destroy = 0;
    expected_us = starpu_task_expected_length(task, starpu_worker_get_perf_archtype(0, 0), 0);
    printf("%.6g\n", expected_us);
    starpu_task_destroy(task);
    starpu_shutdown();
    return 0;
}
