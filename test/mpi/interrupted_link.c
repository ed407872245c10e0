/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Preloaded by profile_over_nodes.sh: Ctrl-C, or the end of a batch job, while the first message is measured. */
#include <signal.h>
#include <time.h>

double MPI_Wtime(void) {
    static int interrupted;
    if (!interrupted++) raise(SIGTERM);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
