/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints the names of the schedulers of the StarPU that is linked. */
#include <starpu.h>
#include <starpu_scheduler.h>
#include <stdio.h>

int main(void) {
    for (struct starpu_sched_policy** s = starpu_sched_get_predefined_policies(); *s; ++s)
        if ((*s)->policy_name) puts((*s)->policy_name);
    return 0;
}
