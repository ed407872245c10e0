/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels of profile_library_test and profile_command.sh, one library each: COUNTING, FAILING, SLOW,
 * OTHER_VERSION or EMPTY is defined. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "tools/apportion/apportion_kernel.h"

#ifdef EMPTY

int not_a_kernel(void) { return 0; }

#else

struct state {
    uint64_t size;
    unsigned processor;
    uint64_t prepared;
};

/** States that exist. */
int test_kernel_states;

static int set_up(uint64_t size, unsigned processor, void** state) {
    struct state* s;
    if (size == 666) return -EINVAL;
    s = malloc(sizeof *s);
    if (!s) return -ENOMEM;
    s->size = size;
    s->processor = processor;
    s->prepared = 0;
    __atomic_add_fetch(&test_kernel_states, 1, __ATOMIC_SEQ_CST);
    *state = s;
    return 0;
}

/* Processor 1 has no room for more than a quarter of the problem. */
static int prepare(void* state, uint64_t units) {
    struct state* s = state;
    s->prepared = units;
    return s->processor == 1 && units > s->size / 4 ? -ENOMEM : 0;
}

static int run(void* state, uint64_t units) {
    struct state* s = state;
    volatile double sum = 0;
    uint64_t i;
#ifdef FAILING
    if (units == 13) return -EIO;
#endif
#ifdef SLOW
    nanosleep(&(struct timespec){0, 20000000}, NULL);
#endif
    if (units != s->prepared) return -EPROTO;
    for (i = 0; i < units * 1000; ++i) sum += (double)i;
    return 0;
}

static void tear_down(void* state) {
    __atomic_sub_fetch(&test_kernel_states, 1, __ATOMIC_SEQ_CST);
    free(state);
}

static const char* processor_name(unsigned processor) {
    static const char* const names[] = {"fast", "small", "third"};
    return processor < 3 ? names[processor] : NULL;
}

const struct apportion_kernel* apportion_kernel(void) {
    static struct apportion_kernel kernel;
    kernel.version = APPORTION_KERNEL_VERSION;
#ifdef OTHER_VERSION
    kernel.version += 1;
#endif
    kernel.name = "counting";
    kernel.unit = "loop";
    kernel.processor_name = processor_name;
    kernel.set_up = set_up;
    kernel.prepare = prepare;
    kernel.run = run;
    kernel.tear_down = tear_down;
    return &kernel;
}

#endif
