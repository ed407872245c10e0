// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <starpu_scheduler.h>

#include <string_view>

namespace apportion {

/// StarPU's table for the registered policy of that name, or nullptr.
starpu_sched_policy* find_scheduler(std::string_view name);

}  // namespace apportion
