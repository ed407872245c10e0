// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scheduling of ordinary tasks, those that are no part of a load: by StarPU's own dmdas (earliest predicted finish
// among the workers, transfers included; by priority, then data that is there first).
//
// Why not StarPU 1.4's modular schedulers, which would do the same at a higher cost per task: modular-heft and
// modular-heft2 give all tasks without a calibrated performance model to one worker, and modular-dmdas loses a wake-up
// when such tasks fit one worker only.
//
// Tasks bound to a worker, a load's blocks among them, bypass dmdas, but StarPU reports them to it. Its counters would
// drift:
//  - push_task_notify counts a bound task in its worker's queue until the worker has called pop_task without result;
//    dmdas distributes tasks without a performance model by these counts;
//  - the expected transfer time that it adds is never subtracted;
//  - in the other contexts of the worker its expected time is never subtracted, because pre_exec_hook and
//    post_exec_hook are called in the task's own context only.
// So only ordinary bound tasks with a known time are reported to dmdas, in their own context.
#pragma once

#include <starpu_scheduler.h>

namespace apportion {

/// StarPU's table of dmdas itself. Throws if this StarPU has none.
const starpu_sched_policy& dmdas();

/// The same for policies of Apportion, whose names it lacks.
starpu_sched_policy scheduler_of_plain_tasks();

}  // namespace apportion
