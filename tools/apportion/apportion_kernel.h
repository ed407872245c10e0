/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Apportion: what `apportion profile --kernel libmine.so` measures. A shared library offers one kernel:
 *
 *     static int set_up(uint64_t size, unsigned processor, void **state) { ... }
 *     static int run(void *state, uint64_t units) { ... }
 *     static void tear_down(void *state) { ... }
 *
 *     const struct apportion_kernel *apportion_kernel(void)
 *     {
 *         static const struct apportion_kernel kernel = {
 *             .version = APPORTION_KERNEL_VERSION, .name = "fft2d", .unit = "row",
 *             .set_up = set_up, .run = run, .tear_down = tear_down,
 *         };
 *         return &kernel;
 *     }
 *
 *     cc -shared -fPIC -o libmine.so mine.c
 *     apportion profile --kernel ./libmine.so --size 2048 --sizes 64:2048:64 --out mine.csv
 *
 * Every processor has a thread of its own, bound to a CPU; all calls for its state come from that thread, those of
 * different processors at the same time. Only `run` is timed. Functions return 0, or a negative errno value; -ENOMEM
 * from `prepare` or `run` means that so many units do not fit the processor, and the profile leaves that size out. Any
 * other error ends the measurement. tools/examples/fftw_kernel.c is a whole kernel.
 */
#ifndef APPORTION_KERNEL_H
#define APPORTION_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define APPORTION_KERNEL_VERSION 1

struct apportion_kernel {
    unsigned version; /**< APPORTION_KERNEL_VERSION */
    const char* name; /**< of the kernel, written into the profile; a profile continues only under the same name */
    const char* unit; /**< what one unit is: "row", "particle", ... */

    /** Name of a processor (counted from 0), NULL behind the last; it may be a device that the thread drives. Without
     *  this function the processors are the CPUs the process may run on. */
    const char* (*processor_name)(unsigned processor);

    /** A processor's state for problems of that size, whatever `size` means to the kernel (--size). */
    int (*set_up)(uint64_t size, unsigned processor, void** state);

    /** What `units` units need before they are run, once, not timed: plans, buffers. May be NULL. */
    int (*prepare)(void* state, uint64_t units);

    /** Computes `units` >= 1 units and returns when they are done. Called many times with the same number. */
    int (*run)(void* state, uint64_t units);

    /** Called once for every state that set_up made. May be NULL. */
    void (*tear_down)(void* state);
};

/** The one symbol the library has to export. */
const struct apportion_kernel* apportion_kernel(void);

#ifdef __cplusplus
}
#endif
#endif
