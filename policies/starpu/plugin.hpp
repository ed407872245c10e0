// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <starpu_scheduler.h>

#include <string>
#include <string_view>

namespace apportion {

/// StarPU's table for the registered policy of that name, or nullptr.
starpu_sched_policy* find_scheduler(std::string_view name);

/// The file that this copy of Apportion was loaded from.
std::string own_path();

/// Throws if the context's scheduler has the name of a policy but is of another library, such as a second copy of
/// Apportion that STARPU_SCHED_LIB names: that one would hear when tasks begin and end, and not this one's loads.
void check_scheduler_is_own(unsigned sched_ctx);

}  // namespace apportion
