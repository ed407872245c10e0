// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/plain_tasks.hpp"

#include <starpu.h>
#include <starpu_sched_component.h>

namespace apportion {

namespace {

void create_components(unsigned sched_ctx) {
    starpu_sched_component_initialize_simple_scheduler(
        reinterpret_cast<starpu_sched_component_create_t>(starpu_sched_component_mct_create), nullptr,
        STARPU_SCHED_SIMPLE_DECIDE_WORKERS | STARPU_SCHED_SIMPLE_PERFMODEL | STARPU_SCHED_SIMPLE_FIFO_ABOVE |
            STARPU_SCHED_SIMPLE_FIFO_ABOVE_PRIO | STARPU_SCHED_SIMPLE_FIFOS_BELOW |
            STARPU_SCHED_SIMPLE_FIFOS_BELOW_PRIO | STARPU_SCHED_SIMPLE_FIFOS_BELOW_READY |
            STARPU_SCHED_SIMPLE_FIFOS_BELOW_EXP | STARPU_SCHED_SIMPLE_IMPL,
        sched_ctx);
}

}  // namespace

starpu_sched_policy scheduler_for(const char* name, const char* description) {
    starpu_sched_policy scheduler{};
    scheduler.init_sched = create_components;
    scheduler.deinit_sched = starpu_sched_tree_deinitialize;
    scheduler.add_workers = starpu_sched_tree_add_workers;
    scheduler.remove_workers = starpu_sched_tree_remove_workers;
    scheduler.push_task = starpu_sched_tree_push_task;
    scheduler.pop_task = starpu_sched_tree_pop_task;
    scheduler.pre_exec_hook = starpu_sched_component_worker_pre_exec_hook;
    scheduler.post_exec_hook = starpu_sched_component_worker_post_exec_hook;
    scheduler.policy_name = name;
    scheduler.policy_description = description;
    scheduler.worker_type = STARPU_WORKER_LIST;
    scheduler.prefetches = 1;
    return scheduler;
}

}  // namespace apportion
