// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/pinned_memory.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <atomic>
#include <cstdio>

#include "codelets/common/flavour.hpp"

namespace apportion {

bool pin_memory(void* data, std::size_t bytes) {
    if (kSimulated || starpu_cuda_worker_get_count() == 0) return false;
    if (starpu_memory_pin(data, bytes) == 0) return true;
    static std::atomic<bool> told = false;
    if (!told.exchange(true))
        fmt::print(stderr,
                   "{:.1f} MiB of main memory cannot be pinned, so that transfers to GPUs take several times as long; "
                   "results are right all the same, but choose a smaller problem or free memory for full speed\n",
                   static_cast<double>(bytes) / (1 << 20));
    return false;
}

void unpin_memory(void* data, std::size_t bytes) { starpu_memory_unpin(data, bytes); }

}  // namespace apportion
