// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What StarPU would end the program for, with a trace: values of its environment variables that it cannot use, and
// folders that it cannot make.
#pragma once

namespace apportion {

/// Throws ApiError, with one sentence, for the first such thing. Before starpu_init(). Where HOME is not set, StarPU is
/// told the home folder of the user: it would use a folder in /tmp that any user can make before.
void check_starpu_environment();

/// With a limit of how many tasks there may be at once StarPU would wait in the callback that submits a load's next
/// block, and end the program for that. Throws ApiError where the environment sets one
/// (STARPU_LIMIT_MAX_SUBMITTED_TASKS and _MIN_), and takes back what the program has set by StarPU's functions.
void leave_tasks_unlimited();

}  // namespace apportion
