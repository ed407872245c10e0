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
 *     struct apportion_load_options options;
 *     apportion_load_options_init(&options);
 *     options.name = "scale";
 *     options.units = n;
 *     options.codelet = &codelet;
 *     options.fill = fill;
 *     struct apportion_load *load = apportion_load_create(&options);
 *     apportion_load_submit(load);
 *     int status = apportion_load_wait(load);
 *     apportion_load_destroy(load);
 *
 * Functions return 0 or a negative errno value; apportion_error() then says in one sentence what was wrong. They are
 * called between apportion_init() and apportion_shutdown(), from threads that are not StarPU workers. Pointers that a
 * function gets are copied from unless it says otherwise; how long a returned pointer is valid stands with the
 * function.
 *
 * How larger programs map onto it (docs/writing-a-load.md has complete programs):
 *  - read-only data that all blocks share (a matrix A, an iterated vector): the application registers them once and
 *    `fill` puts the handle into task->handles; StarPU keeps a copy in each memory while it fits. Blocks do not wait
 *    for tasks that write it: where such tasks may still be to run, list it in `uses` as well, in mode STARPU_R.
 *  - a reduction (a sum, a search's best result): `fill` adds a handle of the application whose mode in the codelet is
 *    STARPU_REDUX. The result is in main memory when apportion_load_wait returns. (With STARPU_RW|STARPU_COMMUTE
 *    blocks run one at a time, and the fast workers wait for the slow ones.)
 *  - loads in a task graph: list in `uses` the handles whose memory the blocks work on. The load waits for earlier
 *    tasks on them, later tasks on them wait for the load, by StarPU's sequential consistency; submission returns at
 *    once. An FFT is: load over rows, transposing task or load, load over rows, all using the same handles.
 *  - iterations: submit the same load again. Models are kept. Data given with APPORTION_KEEP stay where they are while
 *    the block boundaries stay; a vector or a halo that changes between submissions is given without it.
 *  - halos: the range a block reads may overlap those of its neighbours if no block writes it in the same submission.
 *  - a device smaller than the data: blocks bring their units with them, and `bytes_per_unit` bounds the units in
 *    flight; a block made of several tasks (`parts`) streams what is shared, panel by panel.
 */
#ifndef APPORTION_H
#define APPORTION_H

#include <stddef.h>
#include <stdint.h>

/* StarPU's header includes CUDA's, which declare hundreds of deprecated functions. */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
#include <starpu.h>
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this interface. */
#define APPORTION_VERSION "0.1.0"

struct apportion_load;

/** A contiguous range of units, handed to one worker: a block, or the part of it that one of a group of cores
 *  computes (APPORTION_GROUPS). Valid during `fill`, and for the codelet whose argument it is while its function runs;
 *  do not change the fields: a `fill` that does ends the load with -EINVAL. */
struct apportion_block {
    uint64_t first; /**< first unit */
    uint64_t units; /**< number of units, >= 1 */
    unsigned part;  /**< which of the block's tasks is to be filled: 0 ... parts - 1 */
    int worker;     /**< StarPU worker the block is for, or -1 when StarPU's scheduler will choose it */
};

/** Fills the task of one part of one block: handles (see apportion_block_*), cl_arg, priority, ...; the codelet,
 *  worker and synchronisation are set by the engine. So are callback_func and prologue_callback_pop_func: where it sets
 *  them, the load ends with -EINVAL; those of prologue and epilogue are its own. Where it sets no cl_arg, the
 *  codelet's argument is a `const struct apportion_block*`. Handles the application registered itself may be used as
 *  well, and stay registered until apportion_load_wait has returned: until then StarPU does not know all blocks, so
 *  that what else uses these handles does not wait for them. A part without work sets task->where to STARPU_NOWHERE and
 *  handles all the same. Called from any thread, never twice at once for one load. Must not block, nor submit or wait
 *  for this load (-EDEADLK). Returns 0, or a negative errno value, which ends the load with it; so does a C++
 * exception. What the codelet writes must be data of the task's handles: when a device fails or is late, another worker
 * may compute the block a second time. */
typedef int (*apportion_fill_func_t)(struct starpu_task* task, struct apportion_block* block, void* arg);

/** Prepares the calling worker for its first block: loads kernels, initialises libraries, makes plans. Called
 *  before apportion_load_create returns, once on each worker that can run the codelet, on all of them at once, with
 *  that worker's device current (starpu_worker_get_id(), starpu_worker_get_type()). It is not timed: without it the
 *  set-up counts in a worker's first block, and policies that learn take the device for slow. A CUDA kernel is
 *  loaded at its first launch, however small; what is on starpu_cuda_get_local_stream() is waited for. Returns 0. After
 *  another number or a C++ exception, the worker gets no blocks of this load under a policy of Apportion, and
 *  `note` in its reports says why; when no worker is left, and under StarPU's schedulers, which cannot leave one
 *  out, the load is not created. Not called on simulated machines. */
typedef int (*apportion_warm_up_func_t)(void* arg);

/** Units of an open load that are finished: their results are in main memory. A CPU worker that was late with them may
 *  still be computing them, and reading their input, as a device may (see apportion_load_wait). */
struct apportion_done {
    uint64_t first;
    uint64_t units;
    int worker;          /**< StarPU worker that computed them; of several (APPORTION_GROUPS) the first */
    double start_s;      /**< its kernel started, in seconds since the run began ... */
    double end_s;        /**< ... and ended */
    double busy_seconds; /**< kernel time */
};

/** Called when units of an open load are done, from any thread, but not within apportion_load_submit,
 *  apportion_load_add and apportion_load_close, also for several blocks at once. Must not wait for the load nor destroy
 *  it; it may hand over more units. `done` is valid during the call. A C++ exception ends the load. */
typedef void (*apportion_done_func_t)(const struct apportion_done* done, void* arg);

/** A handle that the load's blocks overlap with: acquired in main memory for the duration of the load. A handle and a
 *  piece of it cannot both be. */
struct apportion_use {
    starpu_data_handle_t handle;
    enum starpu_data_access_mode mode;
};

/** What a load is. apportion_load_options_init sets the defaults, which are 0 and NULL but for `size` and
 *  `sched_ctx`; `codelet` and `fill` must then be set. Later versions add fields at the end: programs compiled with
 *  this header go on to work. The codelet and what `arg` points to must live as long as the load; strings and
 *  `uses` are copied. */
struct apportion_load_options {
    size_t size;            /**< of the structure in the program; set by apportion_load_options_init */
    const char* name;       /**< for reports; NULL: the codelet's */
    uint64_t units;         /**< n >= 0; of a block with handles at most 2^32 - 1, StarPU's limit */
    uint64_t granularity;   /**< blocks are multiples of it, except the last units; 0 means 1 */
    uint64_t initial_block; /**< units of a first block (plb-hec: of a device); 0: APPORTION_INITIAL_BLOCK, else units /
                               (64 workers) */
    /** Workers that cannot run it get nothing. Its can_execute is asked by apportion_load_create, of a task without
     *  handles and arguments; under Apportion's policies its first implementation counts alone. A worker whose task it
     *  refuses later gets no more in that run, and others compute the units. Its callback_func must be NULL: the
     *  callback of a block's task is the load's own. */
    struct starpu_codelet* codelet;
    apportion_fill_func_t fill;
    void* arg;               /**< for fill and warm_up */
    unsigned parts;          /**< StarPU tasks per block and worker, 0 means 1 */
    unsigned uses_count;     /**< length of `uses` */
    uint64_t bytes_per_unit; /**< device memory that one unit's block data take; 0: unbounded */
    uint64_t bytes_shared;   /**< device memory to leave for data shared by all blocks */
    const struct apportion_use* uses;
    int sched_ctx;               /**< scheduling context, or -1: the submitting thread's */
    unsigned runs;               /**< how often the load will be submitted in all (iterations); 0: not known */
    const char* profile;         /**< name under which profiles of this load are recorded; NULL: `name` */
    const char* profile_command; /**< command that records this profile, shown when it is missing; NULL: not known */
    apportion_warm_up_func_t warm_up; /**< NULL: the first blocks set their workers up */
    /** Not 0 promises that the codelet's CPU function stores every result only once, in its final form (BLAS does
     *  not: it adds up partial sums in place), that the memory of the blocks is not changed before the next submission,
     *  and that it is not freed before apportion_load_release or the load's destruction. In return other workers may
     *  compute a block that a CPU worker is late with, or would need ten times as long for as they do. */
    int results_stay;
    /** Not 0: an open load, whose units arrive while it runs. A submission begins without units; apportion_load_add
     *  hands them over, `done` tells which are computed, and after apportion_load_close no more come. Blocks keep no
     *  data on devices (APPORTION_KEEP is without effect). */
    int open;
    apportion_done_func_t done; /**< of an open load, with `arg`; NULL: not called */
    /** Not 0: runs are not appended to the file that APPORTION_REPORT names, as those of a part of something that is
     *  reported as a whole. */
    int unreported;
};

/** Sets the defaults of all fields in a structure of `size` bytes, the caller's sizeof. -EINVAL: `options` is NULL,
 *  or `size` is not one of such a structure. For languages other than C and C++; these call
 *  apportion_load_options_init. */
int apportion_load_options_init_size(struct apportion_load_options* options, size_t size);

/** Sets the defaults of all fields. */
static inline int apportion_load_options_init(struct apportion_load_options* options) {
    return apportion_load_options_init_size(options, sizeof *options);
}

/** Starts StarPU (starpu_init) with the scheduler that STARPU_SCHED names, and checks that it really is the one
 *  that runs: an unknown name, a plug-in that does not load and a value of an APPORTION_ variable that makes no sense
 *  are errors. Policies of Apportion need no STARPU_SCHED_LIB here: where it is not set it becomes this library, so
 *  that scheduling contexts made later find them too (STARPU_SCHED_CTX_POLICY_NAME). `conf` may be NULL. Programs that
 *  call starpu_init themselves set STARPU_SCHED_LIB and call apportion_init(NULL) behind it, which then checks only. A
 *  process that fork() made has none of StarPU's threads: it must not use what its parent started. */
int apportion_init(struct starpu_conf* conf);

/** Ends StarPU if apportion_init started it, once it has been called as often as apportion_init. Loads must have been
 *  destroyed. */
void apportion_shutdown(void);

/** Creates a load, which the caller destroys. NULL: the options are invalid, no worker of the context can run the
 *  codelet, or options.size is larger than this library knows; errno and apportion_error() say which. With a
 *  `warm_up` it returns when all workers have run it, after the tasks that they are running. */
struct apportion_load* apportion_load_create(const struct apportion_load_options* options);

/** Starts the load, again if it ran before; returns while it runs. Before, it waits for CPU workers that still run
 *  blocks of an earlier submission which others have computed (results_stay); that is no part of the run's time. In a
 *  task's callback it answers -EDEADLK instead. -EBUSY: it is still running, or a worker still runs a block of a run
 *  that ended with an error, and may store results late or hold earlier ones. Where nobody has waited for the run
 *  before, its report is written now: if that fails, so does the call, once, and starts nothing. Whoever has got a
 *  handle of `uses` that the run before had may submit the load again, also in a task's callback. -ENODEV: none of the
 *  load's workers is in its scheduling context any more. -EINVAL: a handle of `uses` is partitioned by
 *  starpu_data_partition, or is read and was never written. Blocks are submitted in callbacks, where StarPU cannot
 *  wait: limits of starpu_set_limit_max_submitted_tasks and starpu_set_limit_min_submitted_tasks end here, and must
 *  not be set while a load runs. StarPU's profiling, by which blocks are timed, is switched on; while the program
 *  switches it off, they are timed less exactly, and under StarPU's schedulers not at all. */
int apportion_load_submit(struct apportion_load* load);

/** Units of an open load that runs are there to be computed: their input is in main memory. `first` and `units` are
 *  multiples of the granularity, but for the load's last units. Units that are done may be handed over again. -EINVAL:
 *  the load is not open, or some of the units were handed over before and are not done. -EPIPE: the load does not run,
 *  or is closed. Otherwise 0, also when the run has ended with an error, which apportion_load_wait returns. */
int apportion_load_add(struct apportion_load* load, uint64_t first, uint64_t units);

/** Takes back units of an open load that were handed over: those with which the range ends, as far as no worker has
 *  been given them. `withdrawn` becomes their number; they may be handed over again. None are of a load that does not
 *  run, nor under StarPU's schedulers. -EINVAL: the load is not open, or has no such units, or they are no multiples of
 *  the granularity. */
int apportion_load_withdraw(struct apportion_load* load, uint64_t first, uint64_t units, uint64_t* withdrawn);

/** No more units of this submission come: it ends when all that were handed over are computed. To close it again
 * changes nothing. -EINVAL: the load is not open, or was never submitted. */
int apportion_load_close(struct apportion_load* load);

/** Waits until every unit is computed and all results are in main memory: those of the blocks' own data (except
 *  with APPORTION_KEEP) and those of the application's handles that tasks wrote, reductions (STARPU_REDUX)
 *  included; of these no device keeps a copy, so that the program may change them. Returns 0 or the error that ended
 *  the load; 0 also where nothing was submitted.
 *
 *  Under a policy of Apportion, when all units are handed out and a block on a device takes much longer than
 *  expected, idle workers compute its units as well, and the first result counts; `fill` is called for them again. A
 *  worker's first block is expected to take what was recorded or learnt of the worker before; where that is nothing,
 *  idle workers compute its units once it has run as long as they need. If theirs is first, the device is lost for
 *  this run (`lost_processors` in the report). Its task may keep running, but can no longer store anything in main
 *  memory. The same holds for a device whose units turned out not to be needed, and for a task queued behind such a
 *  task of another load, which may even begin after this function has returned. It still reads the block's input and
 *  argument and uses what the codelet's function does (programs, plans, library handles), so free and change these only
 *  after apportion_load_release or apportion_load_destroy, which wait for the task.
 *
 *  Blocks that change data in place, and blocks of CPU workers (except with results_stay), are always waited for. If
 *  such a block takes APPORTION_STALL_FACTOR times the expected time, and at least that many times 1.5 s, while all
 *  other workers are idle, the load ends with -ETIMEDOUT; the task may then still store its results until the load
 *  is released or destroyed. The first such block of a worker has no expected time: it is waited for. But the smallest
 *  one (`granularity` units, one part) of a worker of which nothing is known may be taken over like those of devices:
 *  its handles are those of a copy of the data.
 *
 *  Where all workers leave the scheduling context meanwhile, it waits until some are there again.
 *
 *  -EDEADLK on a StarPU worker, as in a task's callback, while the load runs: it may need that worker, also one that
 *  computes none of its blocks but whose device has data that they read. */
int apportion_load_wait(struct apportion_load* load);

/** Waits for the load and for tasks of lost workers, copies data given with APPORTION_KEEP to main memory and
 *  forgets the blocks' handles. -EDEADLK on a StarPU worker, as in a task's callback, while some of them are left;
 *  -EBUSY while the load runs again. */
int apportion_load_release(struct apportion_load* load);

/** Waits, also for the tasks of lost workers, releases and frees the load. Where nobody waited for the last run, its
 *  error, or that its report cannot be written, is a sentence on standard error. NULL is allowed. On a StarPU worker it
 *  does nothing while handles of the load are left, and apportion_error() says so. */
void apportion_load_destroy(struct apportion_load* load);

/** Called from the codelet's function: this task could not compute its part of the block (an allocation failed, the
 *  device reported an error). Under a policy of Apportion the worker gets no more blocks in this run, and others
 *  compute the units. A codelet that knows of the failure only later, because it is asynchronous
 *  (STARPU_CUDA_ASYNC) or simulated, calls it from its task's epilogue callback (task->epilogue_callback_func,
 *  which `fill` may set). Data in mode STARPU_W may have any content then; data that are changed in place
 *  (STARPU_RW, STARPU_REDUX) must be as they were. A C++ exception must not leave the codelet's function, which StarPU
 *  calls from C: it ends the program. Catch it there and call this. `why` is for the report and may be NULL. -EPERM:
 *  the calling thread runs no block. */
int apportion_block_failed(const char* why);

/** The report of the last finished run as a JSON object (docs/report.md); "{}" before the first. Valid until the
 *  load is submitted again or destroyed. Also appended to the file that APPORTION_REPORT names, one line a run. */
const char* apportion_load_report(struct apportion_load* load);

/** Seconds from submission, or from when it had the handles in `uses`, to completion of the last finished run. */
double apportion_load_seconds(struct apportion_load* load);

/** Name of the scheduler that decides for the load: a policy of Apportion or StarPU's. Valid as long as the process. */
const char* apportion_load_policy(struct apportion_load* load);

/** Last error of the calling thread: one sentence, never NULL. Valid until the thread calls another function of
 *  this header: call it after the function that failed, not as another argument of the same printf. */
const char* apportion_error(void);

/** With STARPU_R, STARPU_W or STARPU_RW: the block's data stay on its device between submissions of the load as
 *  long as its boundaries stay. Nothing else may access them in between. Every submission asks for itself: results
 *  that it names without this come home, also those that stayed before. It names them in the same shape; before shapes
 *  change call apportion_load_release. */
#define APPORTION_KEEP (1 << 24)

/** Handles for the block's own data: `data` is the application's memory of just this range, and not NULL. `mode` is
 *  that of the task's access, STARPU_R, STARPU_W or STARPU_RW, or'ed with APPORTION_KEEP; data that the codelet writes
 *  and `fill` names as STARPU_R, or the other way round, end the load. So does memory that two neighbouring blocks
 *  write, unless the same CPU worker runs both, and but in open loads, whose units may use that of those before them.
 *  The load registers the handle, copies results to main memory and unregisters it: use it for the tasks of this block
 *  only. NULL: it cannot be registered, which ends the load when `fill` returns. */
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
