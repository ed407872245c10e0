// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/plain_tasks.hpp"

#include <starpu.h>

#include <cmath>
#include <stdexcept>

#include "policies/starpu/own_schedulers.hpp"
#include "policies/starpu/run.hpp"

namespace apportion {

const starpu_sched_policy& dmdas() {
    static const starpu_sched_policy* const found = find_starpu_scheduler("dmdas");
    if (!found)
        throw std::runtime_error("this StarPU has no scheduler 'dmdas', to which Apportion gives ordinary tasks");
    return *found;
}

namespace {

// A thread that waits for a task's tag and submits the task again may come before StarPU has cleared the mark that the
// last run's data were asked for, and dmdas would ask again, which StarPU takes for an error and aborts.
int task_pushed(starpu_task* task) {
    task->prefetched = 0;
    return dmdas().push_task(task);
}

// StarPU announces a task that is bound to a worker to every context of that worker, but reports its begin and end only
// to the task's own context (to all of them if that context has no scheduler).
bool ends_here(const starpu_task& task, unsigned sched_ctx) {
    return task.sched_ctx == sched_ctx || !starpu_sched_get_sched_policy_in_ctx(task.sched_ctx);
}

void bound_task_pushed(starpu_task* task, int worker, int model_worker, unsigned sched_ctx) {
    if (Run::is_block_task(*task) || !ends_here(*task, sched_ctx)) return;
    // Without a model it is 0, and not a number before the model is calibrated.
    const double expected_us = starpu_task_worker_expected_length(task, static_cast<unsigned>(model_worker), sched_ctx,
                                                                  starpu_task_get_implementation(task));
    if (expected_us > 0) dmdas().push_task_notify(task, worker, model_worker, sched_ctx);
}

bool known_to_dmdas(const starpu_task& task) {
    if (Run::is_block_task(task)) return false;
    return !task.execute_on_a_specific_worker || std::isgreater(task.predicted, 0.0);  // NaN until dmdas is told
}

void task_begins(starpu_task* task, unsigned sched_ctx) {
    if (Run::is_block_task(*task)) Run::task_begins(*task);
    if (known_to_dmdas(*task)) dmdas().pre_exec_hook(task, sched_ctx);
}

void task_ended(starpu_task* task, unsigned sched_ctx) {
    Run::task_of_worker_ended(*task);
    if (known_to_dmdas(*task)) dmdas().post_exec_hook(task, sched_ctx);
}

}  // namespace

starpu_sched_policy scheduler_of_plain_tasks() {
    starpu_sched_policy scheduler = dmdas();
    scheduler.push_task = task_pushed;
    scheduler.push_task_notify = bound_task_pushed;
    scheduler.pre_exec_hook = task_begins;
    scheduler.post_exec_hook = task_ended;
    return scheduler;
}

}  // namespace apportion
