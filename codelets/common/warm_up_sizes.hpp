// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The sizes that warm_up() runs on each worker, without StarPU: from the smallest block on, each four times as large,
// until a block takes 0.3 s. All workers that are still measured run at the same time, as they do in a load.
//
// A size runs five times, or until it has taken 0.3 s, and the fastest counts. The first block of a device is not
// counted: it makes contexts, loads kernels, sets libraries up. No worker computes for more than its limit, unless one
// smallest block alone takes longer; then it computes that one only.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace apportion {

struct WarmUpWorker {
    bool able = false;     ///< has a kernel
    bool sets_up = false;  ///< a device
};

struct WarmUpLoad {
    std::uint64_t units = 0;
    std::uint64_t granularity = 1;
    double limit_s = 2;  ///< per worker
};

struct MeasuredBlock {
    std::uint64_t units = 0;
    double seconds = 0;
};

/// Runs units[w] units on each worker w at the same time and returns their seconds.
using RunOnWorkers = std::function<std::vector<double>(std::span<const std::uint64_t> units)>;

/// What was measured, per worker, in growing sizes. Where a load has too few units for all workers, the first ones,
/// which are the devices, go before the others.
std::vector<std::vector<MeasuredBlock>> measure_growing_blocks(std::span<const WarmUpWorker> workers,
                                                               const WarmUpLoad& load, const RunOnWorkers& run);

}  // namespace apportion
