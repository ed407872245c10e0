// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/plain_tasks.hpp"

#include <starpu.h>

#include <stdexcept>
#include <string_view>

namespace apportion {

starpu_sched_policy scheduler_for(const char* name, const char* description) {
    for (starpu_sched_policy** own = starpu_sched_get_predefined_policies(); *own; ++own) {
        if (!(*own)->policy_name || std::string_view((*own)->policy_name) != "dmdas") continue;
        starpu_sched_policy scheduler = **own;
        scheduler.policy_name = name;
        scheduler.policy_description = description;
        return scheduler;
    }
    throw std::runtime_error("this StarPU has no scheduler 'dmdas', to which Apportion gives ordinary tasks");
}

}  // namespace apportion
