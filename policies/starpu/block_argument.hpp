// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <starpu.h>

#include <cstdlib>
#include <new>

#include "policies/starpu/apportion.h"

namespace apportion {

/// The codelet learns its units from its argument, where the application gives it no other one, or the block that is
/// only valid while the task is filled.
inline void give_block_as_argument(starpu_task& task, const apportion_block& block) {
    if (task.cl_arg && task.cl_arg != &block) return;
    void* const memory = std::malloc(sizeof block);  // StarPU frees it with the task
    if (!memory) throw std::bad_alloc();
    task.cl_arg = new (memory) apportion_block(block);
    task.cl_arg_size = sizeof block;
    task.cl_arg_free = 1;
}

}  // namespace apportion
