// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scheduling of ordinary tasks, those that are no part of a load: StarPU's own modular components, as modular-heft
// arranges them (earliest predicted finish among the workers, priorities, ready data first). A load's blocks are bound
// to their workers and pass these by.
#pragma once

#include <starpu_scheduler.h>

namespace apportion {

/// The scheduler's table for one policy of Apportion; `name` and `description` must live as long as the process.
starpu_sched_policy scheduler_for(const char* name, const char* description);

}  // namespace apportion
