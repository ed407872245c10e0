// SPDX-License-Identifier: LGPL-2.1-or-later
//
// StarPU's workers as processors: which of a context can run a codelet, what their memory holds, how fast their link
// is.
#pragma once

#include <starpu.h>

#include <string>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// What a load needs of a worker's memory.
struct MemoryNeed {
    std::uint64_t bytes_per_unit = 0;  ///< 0: unbounded
    std::uint64_t bytes_shared = 0;    ///< left free where it fits
};

/// A StarPU worker, or several cores that take blocks together: a processor.
struct Worker {
    std::vector<int> ids;   ///< StarPU's workers
    unsigned node = 0;      ///< its memory node
    const char* kind = "";  ///< "CPU", "CUDA", "OpenCL", ...
    Processor processor;
    LoadDescription::Link link;
};

/// The workers of the context that can run the codelet, in StarPU's order; `left_out` tells of those that the codelet
/// has a function for, but none that counts and that its can_execute accepts. Throws ApiError when there are none, or
/// when a device cannot hold one granule.
std::vector<Worker> workers_for(starpu_codelet& codelet, unsigned sched_ctx, Units granularity, const MemoryNeed& need,
                                std::string* left_out = nullptr);

/// The name of the context's scheduler, which lives as long as that.
const char* scheduler_of(unsigned sched_ctx);

/// Makes one of neighbouring cores as APPORTION_GROUPS says, within a memory node. Not under StarPU's schedulers.
void group_cores(std::vector<Worker>& workers, unsigned sched_ctx);

}  // namespace apportion
