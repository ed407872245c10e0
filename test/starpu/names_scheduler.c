/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* names_scheduler SCHEDULER [init|load]: a program that chooses its scheduler itself; with a second argument it has
 * called starpu_init, and then apportion_init, or creates a load at once. 3: StarPU runs another scheduler. */
#include <stdio.h>
#include <string.h>

#include "policies/starpu/apportion.h"

static void nothing(void* buffers[], void* arg) {
    (void)buffers;
    (void)arg;
}

static struct starpu_codelet codelet = {.cpu_funcs = {nothing}, .name = "nothing"};

static int fill(struct starpu_task* task, struct apportion_block* block, void* arg) {
    (void)task;
    (void)block;
    (void)arg;
    return 0;
}

static int creates_load(void) {
    struct apportion_load_options options;
    apportion_load_options_init(&options);
    options.units = 10;
    options.codelet = &codelet;
    options.fill = fill;
    struct apportion_load* const load = apportion_load_create(&options);
    if (!load) return -1;
    apportion_load_destroy(load);
    return 0;
}

int main(int argc, char** argv) {
    struct starpu_conf conf;
    if (argc < 2 || starpu_conf_init(&conf) != 0) return 2;
    conf.sched_policy_name = argv[1];
    if (argc > 2 && starpu_init(&conf) != 0) return 2;
    if (argc > 2 && strcmp(argv[2], "load") == 0 ? creates_load() != 0 : apportion_init(&conf) != 0) {
        fprintf(stderr, "%s\n", apportion_error());
        if (argc > 2) starpu_shutdown();
        return 1;
    }
    const int other = strcmp(starpu_sched_get_sched_policy()->policy_name, argv[1]) != 0;
    if (argc > 2)
        starpu_shutdown();
    else
        apportion_shutdown();
    return other ? 3 : 0;
}
