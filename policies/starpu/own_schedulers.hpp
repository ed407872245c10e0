// SPDX-License-Identifier: LGPL-2.1-or-later
//
// StarPU's own schedulers, as it lists them.
#pragma once

#include <starpu.h>
#include <starpu_scheduler.h>

#include <string_view>
#include <vector>

namespace apportion {

inline std::vector<const starpu_sched_policy*> starpu_schedulers() {
    std::vector<const starpu_sched_policy*> schedulers;
    for (starpu_sched_policy** own = starpu_sched_get_predefined_policies(); *own; ++own)
        if ((*own)->policy_name) schedulers.push_back(*own);
    return schedulers;
}

/// The one of that name, or nullptr.
inline const starpu_sched_policy* find_starpu_scheduler(std::string_view name) {
    for (const starpu_sched_policy* scheduler : starpu_schedulers())
        if (name == scheduler->policy_name) return scheduler;
    return nullptr;
}

}  // namespace apportion
