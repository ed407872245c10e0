// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What StarPU would end the program or wait forever for: handles of the application in a state that a load cannot use.
#pragma once

#include <span>
#include <string>

#include "policies/starpu/apportion.h"

namespace apportion {

/// What a task or an acquisition needs of a handle's value.
enum class Needs { nothing, value, value_to_reduce };

/// Why StarPU would reject the handle now; null: it would not. Blocks do not wait for tasks that are still to give it a
/// value.
const char* why_not_in_task(starpu_data_handle_t handle, Needs needs);

/// The same for a handle of `uses`, which earlier tasks may still give a value.
const char* why_not_acquired(const apportion_use& use);

/// Why these handles cannot all be held at the same time, with their numbers; empty: they can.
std::string why_not_held_together(std::span<const apportion_use> uses);

}  // namespace apportion
