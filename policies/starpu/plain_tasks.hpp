// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scheduling of ordinary tasks, those that are no part of a load: by StarPU's own dmdas (earliest predicted finish
// among the workers, transfers included; by priority, then data that is there first). A load's blocks are bound to
// their workers and pass it by, but it is told of them and reckons with their expected time.
//
// StarPU 1.4's modular schedulers would do the same, but give all tasks that have no performance model (or one that is
// still calibrated) to one worker, whatever their priorities, while the others idle (modular-heft, modular-heft2), or
// lose a wake-up when such tasks fit one worker only (modular-dmdas). They also cost more per task.
#pragma once

#include <starpu_scheduler.h>

namespace apportion {

/// The scheduler's table for one policy of Apportion; `name` and `description` must live as long as the process.
/// Throws if this StarPU has no dmdas.
starpu_sched_policy scheduler_for(const char* name, const char* description);

}  // namespace apportion
