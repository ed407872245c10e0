// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What warm_up() measures (codelet.hpp), without StarPU.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace apportion {

// The sizes that warm_up() runs on each worker, without StarPU: from the smallest block on, each four times as large,
// until a block takes 0.3 s. All workers that are still measured run at the same time, as they do in a load.
//
// A size runs five times, or until it has taken 0.3 s, and the fastest counts. The first block of a device is not
// counted: it makes contexts, loads kernels, sets libraries up. No worker computes for more than its limit, unless one
// smallest block alone takes longer; then it computes that one only.

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

// Times of one kernel on one worker, measured at a few sizes and interpolated between them: linear between neighbours,
// proportional below the smallest size, along the last segment above the largest. For the performance model that
// StarPU's own schedulers see; Apportion's policies use models/ instead.

class MeasuredTimes {
  public:
    /// Adds a measurement, work > 0 larger than all before.
    void add(double work, double seconds);

    /// Seconds for that work; not-a-number when nothing was measured.
    double seconds(double work) const;

  private:
    struct Point {
        double work;
        double seconds;
    };
    std::vector<Point> points_;
};

}  // namespace apportion
