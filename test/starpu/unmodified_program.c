/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program that knows nothing of Apportion: chains of small tasks with dependencies, priorities and a task for
 * one worker, in the initial context and in a second one that is created and deleted. The argument is the scheduler
 * that must be running. */
#include <starpu.h>
#include <starpu_scheduler.h>
#include <stdio.h>
#include <string.h>

#define CHAINS 16
#define LENGTH 50

static void increment(void* buffers[], void* arg) {
    (void)arg;
    *(int*)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {increment}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "increment"};

static int run_chains(void) {
    int values[CHAINS] = {0}, wrong = 0;
    starpu_data_handle_t handles[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        starpu_variable_data_register(&handles[c], STARPU_MAIN_RAM, (uintptr_t)&values[c], sizeof values[c]);
    for (int k = 0; k < LENGTH; k++)
        for (int c = 0; c < CHAINS; c++) {
            struct starpu_task* task = starpu_task_create();
            task->cl = &codelet;
            task->handles[0] = handles[c];
            task->priority = c % 3 - 1;
            if (c == 0) {
                task->execute_on_a_specific_worker = 1;
                task->workerid = 0;
            }
            if (starpu_task_submit(task) != 0) return 1;
        }
    starpu_task_wait_for_all();
    for (int c = 0; c < CHAINS; c++) {
        starpu_data_unregister(handles[c]);
        wrong += values[c] != LENGTH;
    }
    return wrong;
}

int main(int argc, char** argv) {
    if (argc != 2 || starpu_init(NULL) != 0) return 2;
    const char* name = starpu_sched_get_sched_policy_in_ctx(0)->policy_name;
    int failed = strcmp(name, argv[1]) != 0;
    if (failed) fprintf(stderr, "expected scheduler %s, StarPU runs %s\n", argv[1], name);
    failed |= run_chains();

    int worker = 0;
    unsigned initial = 0;
    unsigned context = starpu_sched_ctx_create(&worker, 1, "second", STARPU_SCHED_CTX_POLICY_NAME, argv[1], 0);
    starpu_sched_ctx_set_context(&context);
    failed |= run_chains();
    starpu_sched_ctx_set_context(&initial);
    starpu_sched_ctx_delete(context);
    failed |= run_chains();

    printf("%s: %s\n", name, failed ? "failed" : "ok");
    starpu_shutdown();
    return failed ? 1 : 0;
}
