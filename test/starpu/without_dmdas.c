// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Preloaded: a StarPU without the scheduler to which Apportion gives ordinary tasks.
#include <stddef.h>

struct starpu_sched_policy;
struct starpu_sched_policy** starpu_sched_get_predefined_policies(void);

struct starpu_sched_policy** starpu_sched_get_predefined_policies(void) {
    static struct starpu_sched_policy* none[] = {NULL};
    return none;
}
