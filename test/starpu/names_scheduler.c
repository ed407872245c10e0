/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* names_scheduler SCHEDULER: a program that chooses its scheduler itself. */
#include <stdio.h>

#include "policies/starpu/apportion.h"

int main(int argc, char** argv) {
    struct starpu_conf conf;
    if (argc != 2 || starpu_conf_init(&conf) != 0) return 2;
    conf.sched_policy_name = argv[1];
    if (apportion_init(&conf) != 0) {
        fprintf(stderr, "%s\n", apportion_error());
        return 1;
    }
    apportion_shutdown();
    return 0;
}
