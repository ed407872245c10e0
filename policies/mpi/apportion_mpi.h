/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Apportion over several nodes: one process per node, started by mpirun, on StarPU-MPI.
 *
 * A program goes on with its codelet and its fill function. It says besides where the data of a unit lie, runs the load
 * on all ranks, and has the results on rank 0. An outer policy (APPORTION_NODES=plb-hec, the default, or any other)
 * grants ranges of units to nodes; inside a node the policy of STARPU_SCHED sizes the blocks of its workers.
 *
 *     apportion_mpi_init(NULL);
 *     double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);   on every rank; only rank 0 fills x
 *     struct apportion_mpi_array arrays[2] = {{x, sizeof *x, 1, 0, STARPU_R}, {y, sizeof *y, 1, 0, STARPU_W}};
 *     struct apportion_mpi_load *load = apportion_mpi_load_create(&options, arrays, 2);
 *     int status = apportion_mpi_load_run(load);                       y is complete on rank 0
 *     apportion_mpi_load_destroy(load);
 *     apportion_mpi_shutdown();
 *
 * Every rank has room for all units (memory that is never touched takes none), and `fill` gets the same range on
 * whichever rank it is called: the input of the units that a node computes has come to their place there.
 *
 * All functions but those that say otherwise are collective: all ranks call them, in the same order, from the thread
 * that called apportion_mpi_init. When one fails it fails on all ranks, with the same sentence; so does each call where
 * ranks call different functions. They return 0 or a negative errno value.
 */
#ifndef APPORTION_MPI_H
#define APPORTION_MPI_H

#include "apportion.h"

#ifdef __cplusplus
extern "C" {
#endif

struct apportion_mpi_load;

/** Where the data of a load's units lie, the same on all ranks but for the address: those of units first ... first + n
 *  - 1 are `pieces` ranges of n * bytes_per_unit bytes, the first at data + first * bytes_per_unit, each next one
 *  `stride` bytes further. A unit that is a column of a matrix is one piece; one that is a row of a column-major matrix
 *  has as many pieces as there are columns, `stride` (a multiple of bytes_per_unit) bytes apart. */
struct apportion_mpi_array {
    void* data;
    size_t bytes_per_unit; /**< of a piece */
    size_t pieces;
    size_t stride; /**< bytes, at least those of a piece of all units; 0 where there is one piece */
    /** STARPU_R: input, sent from rank 0 to the node that computes the unit. STARPU_W: a result, sent from there to
     *  rank 0. Memory of an input must not be that of a result: units may be computed again. */
    int mode;
};

/** Starts MPI if it is not running (it must give MPI_THREAD_MULTIPLE), StarPU as apportion_init does, and StarPU-MPI,
 *  which takes all messages of MPI_COMM_WORLD with the 16 highest tags that MPI has, and none with others. StarPU-MPI's
 *  data tags from 2^40 on are this library's own, on all communicators; a program's are lower.
 *  Unless STARPU_NCPU is set, a core is left to StarPU-MPI's thread where there are several ranks. `conf` may be NULL.
 *  A failure of StarPU alone leaves MPI running until apportion_mpi_shutdown. */
int apportion_mpi_init(struct starpu_conf* conf);

/** Ends what apportion_mpi_init started, once all ranks have called it. */
void apportion_mpi_shutdown(void);

/** The calling process and the number of processes; also after apportion_mpi_shutdown. Where MPI is not running they
 *  start it, on all ranks; otherwise they are not collective. */
int apportion_mpi_rank(void);
int apportion_mpi_nodes(void);

/** Whether all ranks are well: each passes a sentence that says what is wrong on it, or NULL. 0 when all passed NULL;
 *  else -ECANCELED, and apportion_mpi_error() is the sentence of the lowest rank that has one. May be called before
 *  apportion_mpi_init, as soon as MPI runs; starts MPI if need be. */
int apportion_mpi_agree(const char* problem);

/** Copies `bytes` bytes, any number that is the same on all ranks, from rank 0 to all others: what all units share. Not
 *  of data that StarPU uses meanwhile. May be called before apportion_mpi_init like apportion_mpi_agree. */
int apportion_mpi_share(void* data, size_t bytes);

/** A load over all nodes. `options` are those of the node's part, with all units; they, and `arrays`, must be the same
 *  on all ranks but for addresses. What blocks use besides `arrays` must be there on every rank. Reductions and other
 *  handles that tasks write are not collected. NULL: errno and apportion_mpi_error() say why. */
struct apportion_mpi_load* apportion_mpi_load_create(const struct apportion_load_options* options,
                                                     const struct apportion_mpi_array* arrays, unsigned count);

/** Computes all units; then all results are in rank 0's arrays. On other ranks `arrays` may have any content behind it.
 *  May be called again. Each rank waits for the program's tasks that come before on handles in options.uses, and at the
 *  end for its tasks that others were faster than and that may still store in main memory: when this returns its arrays
 *  may be changed, and be those of another load. A node on which the load fails gets no more units, and others compute
 *  those that it had; when none is left the run has failed. It has, too, when a task of node 0 stalls: that may still
 *  write to the results until the load is destroyed. */
int apportion_mpi_load_run(struct apportion_mpi_load* load);

/** The report of the last run as JSON: on rank 0 that of the outer policy, whose processors are the nodes, with theirs
 *  in `nodes`; on other ranks the node's own. Not collective. */
const char* apportion_mpi_load_report(struct apportion_mpi_load* load);

/** Seconds of the last run on rank 0. Not collective. */
double apportion_mpi_load_seconds(struct apportion_mpi_load* load);

/** Waits for what still runs of grants that do not count, and frees the load. NULL is allowed. */
void apportion_mpi_load_destroy(struct apportion_mpi_load* load);

/* --- Data that stay distributed: loads that run again and again ---
 *
 * Where each iteration reads what the one before wrote (a stencil, a solver), data stay on the nodes. Each rank owns a
 * range of units, computes it as an ordinary load under the node's own policy, and gets from other ranks what its units
 * read beside themselves, point to point:
 *
 *     struct apportion_mpi_distributed field = {from, sizeof *from, NULL, 1, 0, STARPU_RW};
 *     struct apportion_mpi_iteration *heat = apportion_mpi_iteration_create(&options, &field, 1);   rank 0's `from`
 *     for (int k = 0; k < iterations; ++k) {
 *         apportion_mpi_iteration_run(heat);                        each rank: its units of `to`
 *         swap(&from, &to);
 *         field.data = from;
 *         apportion_mpi_iteration_exchange(heat, &field, 1);        ... and their neighbours
 *     }
 *     apportion_mpi_iteration_collect(heat, &field, 1);             all of it on rank 0
 *
 * Every rank has room for all units, as above, and `fill` gets the units' own numbers. Shares are equal at first. After
 * each run, units move to other nodes when the nodes' times say that this pays in the runs to come (options.runs), and
 * _exchange carries that out. Policies that plan from a profile (APPORTION_NODES=hpopta, ...) give the shares of the
 * first run instead, and with `equal` they stay equal. Each iteration moves its own units: where several use the same
 * data, APPORTION_NODES=equal must keep them where they are. A node whose load fails ends the run: what it owns is
 * nowhere else. docs/several-nodes.md has a complete program. */

struct apportion_mpi_iteration;

/** An array that is distributed by units; all but addresses is the same on all ranks, and what `starts` points to. */
struct apportion_mpi_distributed {
    void* data;            /**< of unit 0 */
    size_t bytes_per_unit; /**< the next unit's data begin so many bytes further */
    /** NULL, or where units have different lengths: unit u consists of the elements starts[u] ... starts[u + 1] - 1 of
     *  `bytes_per_unit` bytes each. Complete on all ranks, and the same as long as the iteration exists.
     *  Then `periodic` must be 0. */
    const int64_t* starts;
    uint64_t halo; /**< units on either side of its own that a node reads; as many as there are, or more: all */
    /** Not 0: before unit 0 lies a copy of the last units, and behind the last one of the first, in `data` as well, of
     *  as many as there are at most. 0: there is nothing beyond the first and the last unit, or the program's own. */
    int periodic;
    /** STARPU_R: no iteration changes it; it travels at first, and with units that move. STARPU_RW: halos are exchanged
     *  each time. */
    int mode;
};

/** A load on distributed data, with the units of all nodes in `options`; shares are multiples of its granularity.
 *  Distributes `arrays`, which are complete on rank 0. NULL: errno and apportion_mpi_error() say why. */
struct apportion_mpi_iteration* apportion_mpi_iteration_create(const struct apportion_load_options* options,
                                                               const struct apportion_mpi_distributed* arrays,
                                                               unsigned count);

/** Each rank computes its units. The first run must not be preceded by an exchange. */
int apportion_mpi_iteration_run(struct apportion_mpi_iteration* iteration);

/** Makes `arrays` ready for the next run: all that its units read, with `data` as it is now. Those of mode STARPU_RW
 *  are up to date on each rank as far as it owns their units. Since units may move, they must be all arrays that were
 *  given to _create, constant ones as well, in the same order and in one call, and live until the next run, which reads
 *  them. Rank 0 waits for others as long as for an answer (see docs/several-nodes.md). */
int apportion_mpi_iteration_exchange(struct apportion_mpi_iteration* iteration,
                                     const struct apportion_mpi_distributed* arrays, unsigned count);

/** Brings all units of those arrays that are of mode STARPU_RW to rank 0, from their owners; and the nodes' reports.
 *  The arrays may be others than those that are exchanged, such as results: these come from where the last run computed
 *  them. */
int apportion_mpi_iteration_collect(struct apportion_mpi_iteration* iteration,
                                    const struct apportion_mpi_distributed* arrays, unsigned count);

/** The units that the calling rank owns. Not collective. */
void apportion_mpi_iteration_range(struct apportion_mpi_iteration* iteration, uint64_t* first, uint64_t* units);

/** The largest of all ranks' values, for each of `count`, on all ranks; not-a-number where one is. For tests of
 *  convergence, whatever is distributed. */
int apportion_mpi_largest(double* values, unsigned count);

/** The report of the last run as JSON, on rank 0: its processors are the nodes; `nodes` has the nodes' own reports once
 *  apportion_mpi_iteration_collect has brought them. On other ranks the node's own. Not collective. */
const char* apportion_mpi_iteration_report(struct apportion_mpi_iteration* iteration);

/** Seconds of the last run on rank 0, without the exchange. Not collective. */
double apportion_mpi_iteration_seconds(struct apportion_mpi_iteration* iteration);

/** NULL is allowed. */
void apportion_mpi_iteration_destroy(struct apportion_mpi_iteration* iteration);

/** The last error: one sentence, the same on all ranks, never NULL, until the next call. Not collective. */
const char* apportion_mpi_error(void);

#ifdef __cplusplus
}
#endif
#endif
