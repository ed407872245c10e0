/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Apportion: divisible loads for StarPU.
 *
 * A divisible load is n units of independent work. The application says how a block of units becomes a StarPU task;
 * under one of Apportion's policies (STARPU_SCHED=plb-hec, ...) the policy decides how many units each worker's next
 * block has, under any other StarPU scheduler (eager, dmda, ...) the same program runs as equal blocks.
 *
 *     static int fill(struct starpu_task *task, struct apportion_block *block, void *arg)
 *     {
 *         task->handles[0] = apportion_block_vector(block, STARPU_R, x + block->first, block->units, sizeof *x);
 *         task->handles[1] = apportion_block_vector(block, STARPU_W, y + block->first, block->units, sizeof *y);
 *         return 0;
 *     }
 *
 *     struct apportion_load_options options = APPORTION_LOAD_OPTIONS("scale", n, &codelet, fill, NULL);
 *     struct apportion_load *load = apportion_load_create(&options);
 *     apportion_load_submit(load);
 *     int status = apportion_load_wait(load);
 *     apportion_load_destroy(load);
 *
 * Functions return 0 or a negative errno value; apportion_error() then says in one sentence what was wrong. They are
 * called between apportion_init() and apportion_shutdown(), from threads that are no StarPU workers.
 *
 * How the pieces of larger programs map onto it:
 *  - read-only data that all blocks share (a matrix A, an iterated vector): the application registers them once and
 *    `fill` puts the handle into task->handles; StarPU keeps a copy in each memory while it fits.
 *  - a reduction (a search's best result): `fill` adds a handle in mode STARPU_REDUX or STARPU_COMMUTE.
 *  - loads in a task graph: list in `uses` the handles whose memory the blocks work on. The load waits for earlier
 *    tasks on them, later tasks on them wait for the load, by StarPU's sequential consistency; submission returns at
 *    once. An FFT is: load over rows, transposing task or load, load over rows, all using the same handles.
 *  - iterations: submit the same load again. Models stay. Data given with APPORTION_KEEP stay where they are while
 *    the block boundaries stay; a vector or a halo that changes between submissions is given without it.
 *  - halos: the range a block reads may overlap its neighbours' if nobody writes it in the same submission.
 *  - a device smaller than the data: units travel by blocks, and `bytes_per_unit` bounds those in flight; a
 *    block made of several tasks (`parts`) streams what is shared, panel by panel.
 */
#ifndef APPORTION_H
#define APPORTION_H

#include <starpu.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this interface; options structures carry their size, so that later fields can be added. */
#define APPORTION_VERSION "0.1.0"

struct apportion_load;

/** A contiguous range of units, handed to one worker. Valid during `fill`; the fields are not to be changed. */
struct apportion_block {
    uint64_t first; /**< first unit */
    uint64_t units; /**< number of units, >= 1 */
    unsigned part;  /**< which of the block's tasks is to be filled: 0 ... parts - 1 */
    int worker;     /**< StarPU worker the block is for, or -1 when StarPU's scheduler will choose it */
};

/** Fills the task of one part of one block: handles (see apportion_block_*), cl_arg, priority, ...; the codelet,
 *  worker, callbacks (but the epilogue's) and synchronisation are set by the engine. Handles the application registered
 *  itself may be used as well. A part without work sets task->where to STARPU_NOWHERE. Called from any thread, never
 *  twice at once for one load. Must not block, nor submit or wait for this load (-EDEADLK). Returns 0, or a negative
 *  errno value, which ends the load with it; so does a C++ exception. What the codelet writes must be data of the
 *  task's handles: on a device in trouble a block may be computed a second time by another worker. */
typedef int (*apportion_fill)(struct starpu_task* task, struct apportion_block* block, void* arg);

/** Makes the calling worker ready for its first block: loads kernels, sets libraries up, makes plans. Called before
 *  apportion_load_create returns, once on each worker that can run the codelet, on all of them at once, with that
 *  worker's device current (starpu_worker_get_id(), starpu_worker_get_type()). No load's clock runs meanwhile: without
 *  it a first block takes longer by the set-up, and policies that learn take the device for slow. A CUDA kernel is
 *  loaded when it is launched for the first time, with however little to do; wait for
 *  starpu_cuda_get_local_stream() then. Returns 0. Another number, or a C++ exception: under a policy of Apportion the
 *  worker gets no blocks of this load, and `note` in its reports says why; when no worker is left, and under StarPU's
 *  schedulers, which cannot leave one out, the load is not created. Not called on simulated machines. */
typedef int (*apportion_warm_up)(void* arg);

/** A handle that the load's blocks overlap with: acquired in main memory for the duration of the load. */
struct apportion_use {
    starpu_data_handle_t handle;
    enum starpu_data_access_mode mode;
};

struct apportion_load_options {
    size_t size;            /**< sizeof(struct apportion_load_options) */
    const char* name;       /**< for reports; copied */
    uint64_t units;         /**< n >= 0 */
    uint64_t granularity;   /**< blocks are multiples of it, except the last units; 0 means 1 */
    uint64_t initial_block; /**< units of a first block; 0: APPORTION_INITIAL_BLOCK, else units / (64 workers) */
    struct starpu_codelet* codelet;
    apportion_fill fill;
    void* arg;               /**< for fill and warm_up */
    unsigned parts;          /**< StarPU tasks per block, 0 means 1 */
    uint64_t bytes_per_unit; /**< device memory that one unit's block data take; 0: unbounded */
    uint64_t bytes_shared;   /**< device memory to leave for data shared by all blocks */
    const struct apportion_use* uses;
    unsigned uses_count;
    int sched_ctx;               /**< scheduling context, or -1: the submitting thread's */
    const char* profile;         /**< name under which profiles of this load are recorded; NULL: options.name. Copied */
    unsigned runs;               /**< how often the load will be submitted in all (iterations); 0: not known */
    const char* profile_command; /**< command that records that profile, for messages; NULL: none is known. Copied */
    int results_stay; /**< not 0 promises that CPU workers may store a result late: the codelet stores each one there
                           once, when it is final (BLAS does not: it adds partial sums up in place), and the application
                           neither frees nor changes the blocks' memory before apportion_load_release, the next
                           submission or the load's destruction. Then blocks of CPU workers are taken over, too */
    apportion_warm_up warm_up; /**< NULL: the first blocks set their workers up */
};

/** Options with everything optional left out. */
#define APPORTION_LOAD_OPTIONS(name_, units_, codelet_, fill_, arg_)                                                   \
    {                                                                                                                  \
        sizeof(struct apportion_load_options), (name_), (units_), 0, 0, (codelet_), (fill_), (arg_), 0, 0, 0, NULL, 0, \
            -1, NULL, 0, NULL, 0, NULL                                                                                 \
    }

/** Starts StarPU (starpu_init) with the scheduler that STARPU_SCHED names, and makes sure that it is the one that runs:
 *  an unknown name, a plug-in that does not load and a value of an APPORTION_ variable that makes no sense are errors.
 *  Policies of Apportion need no STARPU_SCHED_LIB here. `conf` may be NULL. Programs that call starpu_init themselves
 *  set STARPU_SCHED_LIB and call apportion_init(NULL) behind it, which then checks only. */
int apportion_init(struct starpu_conf* conf);

/** Ends StarPU if apportion_init started it. Loads must have been destroyed. */
void apportion_shutdown(void);

/** Creates a load. NULL: invalid options, or no worker of the context can run the codelet; see apportion_error(). With
 * a `warm_up` it waits until all workers have run it, behind what they are doing. */
struct apportion_load* apportion_load_create(const struct apportion_load_options* options);

/** Starts the load, again if it ran before; returns while it runs. -EBUSY: it still runs, or a worker has still not
 *  finished a block of a run that ended with an error, and may store its results late or has earlier ones. */
int apportion_load_submit(struct apportion_load* load);

/** Waits until every unit is computed and all results are in main memory: those of the blocks' own data (but with
 *  APPORTION_KEEP) and those of handles of the application that tasks wrote (reductions). Returns 0 or the error that
 *  ended the load.
 *
 *  Under a policy of Apportion, when nothing is left to hand out, units of a block that takes twice as long on a device
 *  as it should are computed by others as well, who have nothing else to do; what is done first counts. When the others
 *  are first the device is lost for this run (`lost_processors` in the report). Its task may run on, but can store
 *  nothing in main memory any more; it still reads the block's input and argument: free and change them only when the
 *  load is released, submitted again or destroyed, which waits for it. Blocks that change data in place, and blocks of
 *  CPU workers (but with results_stay), are always waited for. If such a block takes APPORTION_STALL_FACTOR times as
 *  long as it should (and as 1.5 s) while all others wait, the load ends with -ETIMEDOUT (but a worker's first block,
 *  of which nobody knows how long it should take, is waited for); then the task may still store
 *  its results until the load is released or destroyed. */
int apportion_load_wait(struct apportion_load* load);

/** Waits for the load and for tasks of lost workers, brings data given with APPORTION_KEEP home and forgets the block
 *  handles. */
int apportion_load_release(struct apportion_load* load);

/** Waits, also for the tasks of lost workers, releases and frees the load. NULL is allowed. */
void apportion_load_destroy(struct apportion_load* load);

/** Says, from the codelet's function, that this task could not compute its part of the block (an allocation failed, the
 *  device reported an error): under a policy of Apportion the worker gets no more blocks in this run, and others
 * compute the units. A codelet that is only known to have failed later, because it is asynchronous (STARPU_CUDA_ASYNC)
 * or simulated, says so from its task's epilogue callback (task->epilogue_callback_func, which `fill` may set). Data in
 *  mode STARPU_W may have any content by then, data that are changed in place (STARPU_RW, STARPU_REDUX) must be as they
 *  were. `why` is for the report; copied, may be NULL. -EPERM: the calling thread runs no block. */
int apportion_block_failed(const char* why);

/** The report of the last finished run as a JSON object; valid until the load is submitted or destroyed. Also appended
 *  to the file that APPORTION_REPORT names, one line a run. */
const char* apportion_load_report(struct apportion_load* load);

/** Seconds from submission to completion of the last finished run. */
double apportion_load_seconds(struct apportion_load* load);

/** Name of the scheduler that decides for the load: a policy of Apportion or StarPU's. */
const char* apportion_load_policy(struct apportion_load* load);

/** Last error of the calling thread: one sentence, never NULL. */
const char* apportion_error(void);

/** With STARPU_R, STARPU_W or STARPU_RW: the block's data stay on its device between submissions of the load while its
 *  boundaries stay, because nothing else touches them in between. */
#define APPORTION_KEEP (1 << 24)

/** Handles for the block's own data: `data` is the application's memory of just this range in main memory. Registered
 *  here, brought home and unregistered by the engine. `mode` is that of the task's access, or'ed with APPORTION_KEEP.
 */
starpu_data_handle_t apportion_block_vector(struct apportion_block* block, int mode, void* data, size_t elements,
                                            size_t element_size);
/** nx elements contiguous, ny rows, ld elements from row to row (StarPU's matrix interface). */
starpu_data_handle_t apportion_block_matrix(struct apportion_block* block, int mode, void* data, size_t ld, size_t nx,
                                            size_t ny, size_t element_size);
/** StarPU's block interface: nx contiguous, ldy elements from row to row, ldz from plane to plane. */
starpu_data_handle_t apportion_block_volume(struct apportion_block* block, int mode, void* data, size_t ldy, size_t ldz,
                                            size_t nx, size_t ny, size_t nz, size_t element_size);

#ifdef __cplusplus
}
#endif
#endif
