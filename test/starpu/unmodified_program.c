/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program that knows nothing of Apportion: what schedulers are asked for beside plain tasks. The argument is
 * the scheduler that must be running. Prints one line for each case that fails. */
#include <starpu.h>
#include <starpu_scheduler.h>
#include <stdio.h>
#include <string.h>

#ifdef STARPU_SIMGRID
/* A simulated task costs the simulator more than a real one costs StarPU. */
enum { TINY_TASKS = 10000 };
/* Functions are called, so that they can count; GPUs run those without data. */
#define FLAGS .flags = STARPU_CODELET_SIMGRID_EXECUTE
#define EVERYWHERE(function) .cpu_funcs = {function}, .cuda_funcs = {function}, FLAGS
#else
enum { TINY_TASKS = 100000 };
#define FLAGS .flags = 0
#define EVERYWHERE(function) .cpu_funcs = {function}, FLAGS
#endif

static int executed; /* by the running case */
static int misplaced;

static void count(void* buffers[], void* arg) {
    (void)buffers;
    (void)arg;
    __atomic_add_fetch(&executed, 1, __ATOMIC_RELAXED);
}

static void increment(void* buffers[], void* arg) {
    *(int*)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
    count(buffers, arg);
}

static struct starpu_codelet counting = {EVERYWHERE(count), .name = "count"};
static struct starpu_codelet incrementing = {
    .cpu_funcs = {increment}, FLAGS, .nbuffers = 1, .modes = {STARPU_RW}, .name = "increment"};

static int first_cpu_worker(void) { return starpu_worker_get_by_type(STARPU_CPU_WORKER, 0); }

static struct starpu_task* task_of(struct starpu_codelet* codelet) {
    struct starpu_task* task = starpu_task_create();
    task->cl = codelet;
    return task;
}

static int submit(struct starpu_task* task) {
    int refused = starpu_task_submit(task);
    if (refused) fprintf(stderr, "starpu_task_submit: %s\n", strerror(-refused));
    return refused != 0;
}

/* Waits for the running case's tasks; 0 if `expected` of them were executed, none of them at a wrong place. */
static int finish(int expected) {
    starpu_task_wait_for_all();
    int failed = executed != expected || misplaced != 0;
    if (failed) fprintf(stderr, "%d of %d tasks executed, %d misplaced\n", executed, expected, misplaced);
    executed = misplaced = 0;
    return failed;
}

/* Chains of dependent tasks with priorities; the first chain is bound to a worker. */
static int chains(void) {
    enum { CHAINS = 16, LENGTH = 50 };
    int values[CHAINS] = {0}, failed = 0;
    starpu_data_handle_t handles[CHAINS];
    for (int c = 0; c < CHAINS; c++) {
        starpu_variable_data_register(&handles[c], STARPU_MAIN_RAM, (uintptr_t)&values[c], sizeof values[c]);
        starpu_data_prefetch_on_node(handles[c], starpu_worker_get_memory_node((unsigned)first_cpu_worker()), 1);
    }
    for (int k = 0; k < LENGTH; k++)
        for (int c = 0; c < CHAINS; c++) {
            struct starpu_task* task = task_of(&incrementing);
            task->handles[0] = handles[c];
            task->priority = c % 3 - 1;
            if (c == 0) {
                task->execute_on_a_specific_worker = 1;
                task->workerid = (unsigned)first_cpu_worker();
            }
            failed |= submit(task);
        }
    failed |= finish(CHAINS * LENGTH);
    for (int c = 0; c < CHAINS; c++) {
        starpu_data_unregister(handles[c]);
        failed |= values[c] != LENGTH;
    }
    return failed;
}

/* Not urgent tasks that a worker has executed, and urgent ones executed after more of them than a worker fetches ahead.
 * By worker: tasks are so short that one worker may be through with all of its own before another one wakes up. */
enum { FETCHED_AHEAD = 4 };
static int others_of[STARPU_NMAXWORKERS];
static int late_urgent;

static void note_urgent(void* buffers[], void* urgent) {
    int* others = &others_of[starpu_worker_get_id()];
    if (!urgent)
        ++*others;
    else if (*others > FETCHED_AHEAD)
        __atomic_add_fetch(&late_urgent, 1, __ATOMIC_RELAXED);
    count(buffers, NULL);
}

static int waiting_workers, gate_open;

static void wait_at_gate(void* buffers[], void* arg) {
    (void)buffers;
    (void)arg;
    __atomic_add_fetch(&waiting_workers, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&gate_open, __ATOMIC_ACQUIRE)) starpu_sleep(0.001f);
}

/* Makes all workers wait until `gate_open`. */
static int close_gate(void) {
    static struct starpu_codelet codelet = {EVERYWHERE(wait_at_gate), .name = "wait_at_gate"};
    int failed = 0, workers = (int)starpu_worker_get_count();
    waiting_workers = gate_open = 0;
    for (int worker = 0; worker < workers; worker++) {
        struct starpu_task* task = task_of(&codelet);
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)worker;
        failed |= submit(task);
    }
    while (!failed && __atomic_load_n(&waiting_workers, __ATOMIC_ACQUIRE) < workers) starpu_sleep(0.001f);
    return failed;
}

static void open_gate(void) { __atomic_store_n(&gate_open, 1, __ATOMIC_RELEASE); }

/* Urgent tasks that come after as many others overtake them, but for a few that workers have already. */
static int priorities(void) {
    enum { URGENT_TASKS = 256 };
    static struct starpu_codelet codelet = {EVERYWHERE(note_urgent), .name = "note_urgent"};
    int failed = close_gate();
    for (int k = 0; k < 2 * URGENT_TASKS; k++) {
        struct starpu_task* task = task_of(&codelet);
        task->cl_arg = k < URGENT_TASKS ? NULL : &codelet;
        task->priority = k < URGENT_TASKS ? 0 : 1;
        failed |= submit(task);
    }
    open_gate();
    failed |= finish(2 * URGENT_TASKS);
    if (late_urgent > 0) fprintf(stderr, "%d urgent tasks came after others\n", late_urgent);
    return failed | (late_urgent > 0);
}

static int executed_by[STARPU_NMAXWORKERS];

static void count_by_worker(void* buffers[], void* arg) {
    executed_by[starpu_worker_get_id()]++;
    count(buffers, arg);
}

/* Tasks without a performance model are shared out all the same, also after many that were bound to one worker. */
static int unknown_times(void) {
    enum { TASKS = 240 };
    static struct starpu_codelet codelet = {.cpu_funcs = {count_by_worker}, FLAGS, .name = "count_by_worker"};
    int failed = 0, workers[STARPU_NMAXWORKERS];
    int cpus = (int)starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, workers, STARPU_NMAXWORKERS);
    for (int k = 0; k < TASKS; k++) {
        struct starpu_task* task = task_of(&counting);
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)first_cpu_worker();
        failed |= submit(task);
    }
    failed |= finish(TASKS);
    failed |= close_gate();
    for (int k = 0; k < TASKS; k++) failed |= submit(task_of(&codelet));
    open_gate();
    failed |= finish(TASKS);
    for (int k = 0; k < cpus; k++)
        if (executed_by[workers[k]] < TASKS / (2 * cpus)) {
            fprintf(stderr, "worker %d executed %d of %d tasks\n", workers[k], executed_by[workers[k]], TASKS);
            failed = 1;
        }
    return failed;
}

static int on_first_cpu(unsigned worker, struct starpu_task* task, unsigned implementation) {
    (void)task;
    (void)implementation;
    return (int)worker == first_cpu_worker();
}

static void count_on_first_cpu(void* buffers[], void* arg) {
    if (starpu_worker_get_id() != first_cpu_worker()) __atomic_add_fetch(&misplaced, 1, __ATOMIC_RELAXED);
    count(buffers, arg);
}

static void count_on_cpu(void* buffers[], void* arg) {
    if (starpu_worker_get_type(starpu_worker_get_id()) != STARPU_CPU_WORKER)
        __atomic_add_fetch(&misplaced, 1, __ATOMIC_RELAXED);
    count(buffers, arg);
}

/* can_execute, `where`, implementations for one kind of workers, and tasks for no worker at all. */
static int restricted_codelets(void) {
    static struct starpu_codelet by_function = {EVERYWHERE(count_on_first_cpu), .can_execute = on_first_cpu,
                                                .name = "can_execute"};
    static struct starpu_codelet by_place = {EVERYWHERE(count_on_cpu), .where = STARPU_CPU, .name = "where"};
    static struct starpu_codelet by_kind = {.cpu_funcs = {count_on_cpu}, FLAGS, .name = "kind"};
    static struct starpu_codelet nowhere = {.where = STARPU_NOWHERE, .name = "nowhere"};
    struct starpu_codelet* codelets[] = {&by_function, &by_place, &by_kind, &nowhere, NULL};
    int failed = 0;
    for (int k = 0; k < 50; k++)
        for (int c = 0; c < 5; c++) failed |= submit(task_of(codelets[c]));
    return failed | finish(150);
}

static void submit_two(void* depth) {
    for (int k = 0; k < 2 && depth; k++) {
        struct starpu_task* task = task_of(&counting);
        task->callback_func = submit_two;
        task->callback_arg = (char*)depth - 1;
        if (submit(task)) __atomic_add_fetch(&misplaced, 1, __ATOMIC_RELAXED);
    }
}

static int tasks_from_callbacks(void) {
    submit_two((void*)10);
    return finish((1 << 11) - 2);
}

static void count_once(void* buffers[], void* arg) {
    if (starpu_combined_worker_get_rank() == 0) count(buffers, arg);
}

/* Codelets that could run on several CPUs at a time. */
static int parallel_codelets(void) {
    static struct starpu_codelet codelet = {
        .cpu_funcs = {count_once}, FLAGS, .type = STARPU_SPMD, .max_parallelism = 2, .name = "spmd"};
    int failed = 0;
    for (int k = 0; k < 50; k++) failed |= submit(task_of(&codelet));
    return failed | finish(50);
}

static int tiny_tasks(void) {
    int failed = 0;
    for (int k = 0; k < TINY_TASKS; k++) failed |= submit(task_of(&counting));
    return failed | finish(TINY_TASKS);
}

static struct starpu_task restarted;

/* A task that is submitted again as soon as its tag is set, when StarPU has not quite done with its last run. */
static int restarted_by_tag(void) {
    enum { RUNS = 1000, TAG = 1 };
    int failed = 0;
    starpu_task_init(&restarted);
    restarted.cl = &counting;
    restarted.use_tag = 1;
    restarted.tag_id = TAG;
    for (int k = 0; k < RUNS; k++) failed |= submit(&restarted) || starpu_tag_wait(TAG);
    return failed | finish(RUNS);
}

/* Contexts with the same scheduler are created, given another worker, used beside the initial one, and deleted. */
static int contexts_at_run_time(const char* name) {
    int workers[STARPU_NMAXWORKERS], failed = 0;
    unsigned initial = 0, count_of_workers = starpu_worker_get_count();
    starpu_worker_get_ids_by_type(STARPU_ANY_WORKER, workers, STARPU_NMAXWORKERS);
    for (int round = 0; round < 3; round++) {
        int first = first_cpu_worker();
        unsigned context = starpu_sched_ctx_create(&first, 1, "second", STARPU_SCHED_CTX_POLICY_NAME, name, 0);
        starpu_sched_ctx_set_context(&context);
        failed |= chains();
        starpu_sched_ctx_add_workers(workers, count_of_workers, context);
        for (int k = 0; k < 200; k++) {
            failed |= submit(task_of(&counting));
            struct starpu_task* task = task_of(&counting);
            failed |= starpu_task_submit_to_ctx(task, initial) != 0;
        }
        starpu_task_wait_for_all_in_ctx(initial);
        failed |= finish(400);
        starpu_sched_ctx_set_context(&initial);
        starpu_sched_ctx_delete(context);
        failed |= chains();
    }
    return failed;
}

static int report(const char* name, const char* what, int failed) {
    if (failed) printf("%s: %s: failed\n", name, what);
    return failed;
}

int main(int argc, char** argv) {
    if (argc != 2 || starpu_init(NULL) != 0) return 2;
    const char* name = starpu_sched_get_sched_policy_in_ctx(0)->policy_name;
    int failed = strcmp(name, argv[1]) != 0;
    if (failed) fprintf(stderr, "expected scheduler %s, StarPU runs %s\n", argv[1], name);
    failed |= report(name, "chains", chains());
    failed |= report(name, "priorities", priorities());
    failed |= report(name, "unknown times", unknown_times());
    failed |= report(name, "restricted codelets", restricted_codelets());
    failed |= report(name, "tasks from callbacks", tasks_from_callbacks());
    failed |= report(name, "parallel codelets", parallel_codelets());
    failed |= report(name, "tiny tasks", tiny_tasks());
    failed |= report(name, "restarted by tag", restarted_by_tag());
    failed |= report(name, "contexts at run time", contexts_at_run_time(argv[1]));
    starpu_shutdown();
    starpu_task_clean(&restarted);
    return failed ? 1 : 0;
}
