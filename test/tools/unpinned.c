/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Preloaded by unpinned.sh: a machine with a CUDA worker whose main memory cannot be pinned. */
#include <stddef.h>

unsigned starpu_cuda_worker_get_count(void) { return 1; }

int starpu_memory_pin(void* address, size_t size) {
    (void)address;
    (void)size;
    return -1;
}
