/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* names_scheduler SCHEDULER: a program that chooses its scheduler itself; 3: StarPU runs another one. */
#include <stdio.h>
#include <string.h>

#include "policies/starpu/apportion.h"

int main(int argc, char** argv) {
    struct starpu_conf conf;
    if (argc != 2 || starpu_conf_init(&conf) != 0) return 2;
    conf.sched_policy_name = argv[1];
    if (apportion_init(&conf) != 0) {
        fprintf(stderr, "%s\n", apportion_error());
        return 1;
    }
    const int other = strcmp(starpu_sched_get_sched_policy()->policy_name, argv[1]) != 0;
    apportion_shutdown();
    return other ? 3 : 0;
}
