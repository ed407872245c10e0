// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scheduling of ordinary tasks, those that are no part of a load: by StarPU's own dmdas (earliest predicted finish
// among the workers, transfers included; by priority, then data that is there first).
//
// StarPU 1.4's modular schedulers would do the same, but give all tasks that have no performance model (or one that is
// still calibrated) to one worker, whatever their priorities, while the others idle (modular-heft, modular-heft2), or
// lose a wake-up when such tasks fit one worker only (modular-dmdas). They also cost more per task.
//
// Tasks that are bound to a worker pass dmdas by, a load's blocks among them. It would be told of them, but keep books
// that do not balance: each stays counted in its worker's queue until the worker has looked for a task in vain, and
// tasks without a performance model are shared out by these counts, so that after a load they would go to the workers
// that had few blocks; its expected transfers stay for ever, and its expected time in the other contexts of its worker.
// Told of are therefore only ordinary bound tasks whose time is known, and only in their own context. Workers take
// bound tasks before others.
#pragma once

#include <starpu_scheduler.h>

namespace apportion {

/// The scheduler's table for one policy of Apportion; `name` and `description` must live as long as the process.
/// Throws if this StarPU has no dmdas.
starpu_sched_policy scheduler_for(const char* name, const char* description);

}  // namespace apportion
