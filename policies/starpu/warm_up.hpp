// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The application's warm-up of a load (apportion_load_options.warm_up), run on the workers before the load exists.
#pragma once

#include <starpu.h>

#include <string>
#include <vector>

#include "policies/starpu/apportion.h"
#include "policies/starpu/workers.hpp"

namespace apportion {

/// Runs the hook on all workers at once and waits for them. Returns why it failed, per worker; empty: it did not.
/// Throws ApiError when called from a StarPU worker, which would wait for itself.
std::vector<std::string> warm_up_workers(apportion_warm_up_func_t hook, void* arg, unsigned sched_ctx,
                                         const std::vector<Worker>& workers);

}  // namespace apportion
