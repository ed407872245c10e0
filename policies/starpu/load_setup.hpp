// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the runs of a load have in common and none of them changes.
#pragma once

#include <starpu.h>

#include <algorithm>
#include <string>
#include <vector>

#include "policies/starpu/apportion.h"
#include "policies/starpu/workers.hpp"

namespace apportion {

struct LoadSetup {
    apportion_load_options options;  ///< its strings and `uses` are not to be used
    const char* name = "";           ///< lives as long as the process
    std::string profile, profile_command;
    std::vector<apportion_use> uses;
    unsigned sched_ctx = 0;
    std::vector<Worker> workers;
    std::string left_out;                  ///< workers whose warm-up failed, as a sentence
    std::vector<int> processor_of_worker;  ///< -1: none of the load's
    starpu_codelet skipped{};              ///< does nothing, with the data of the load's codelet

    int processor_of(int worker) const {
        const bool known = worker >= 0 && worker < static_cast<int>(processor_of_worker.size());
        return known ? processor_of_worker[static_cast<std::size_t>(worker)] : -1;
    }
    /// Which of the processor's workers that is; 0 for a block that is bound to none.
    std::size_t lane_of(int processor, int worker) const {
        if (processor < 0) return 0;
        const std::vector<int>& ids = worker_of(processor).ids;
        const auto its = std::ranges::find(ids, worker);
        return its == ids.end() ? 0 : static_cast<std::size_t>(its - ids.begin());
    }
    const Worker& worker_of(int processor) const { return workers[static_cast<std::size_t>(processor)]; }
};

/// What the options say, and who can compute. Throws ApiError when they make no sense.
LoadSetup set_up(const apportion_load_options* options);

/// The load as policies see it.
LoadDescription description_of(const LoadSetup& setup);

/// A copy of the name that lives as long as the process: StarPU's traces read it after a task's end.
const char* lasting(const std::string& name);

}  // namespace apportion
