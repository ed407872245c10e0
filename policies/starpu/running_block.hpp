// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One block of a run, from when it is handed out until nothing of it is with StarPU any more.
#pragma once

#include <fmt/format.h>
#include <starpu.h>

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "policies/engine/block_flow.hpp"
#include "policies/starpu/block_data.hpp"

namespace apportion {

class Run;

struct RunningBlock {
    /// Whether its tasks can still be kept from running.
    enum class Phase { not_begun, begun, cancelled };

    Run* run = nullptr;
    Block block;
    BlockData data;
    unsigned tasks_left = 0;                 ///< with StarPU, or about to be
    unsigned departures_left = 0;            ///< evacuations of overlapping kept data that must end before it is filled
    unsigned returns_left = 0;               ///< written handles on their way home
    bool timed = false;                      ///< a task of it that did work has been recorded
    bool changed = false;                    ///< a task has changed data in place
    bool kept_input = false;                 ///< its data stayed on a device since an earlier run, ...
    unsigned kept_on = STARPU_MAIN_RAM;      ///< ... this one
    bool told_begin = false;                 ///< the flow knows begun_us
    bool dropped = false;                    ///< a piece that does not count, in flight
    bool waiting = false;                    ///< a piece that is computed and waits for the flow's decision
    std::vector<const starpu_task*> failed;  ///< tasks that were not computed
    std::string failure;                     ///< why
    bool yields = false;                     ///< its results can be dropped although its tasks run on

    // Without the run's lock:
    std::atomic<double> begun_us = -1;  ///< by StarPU's clock; negative: no task has begun
    std::atomic<Phase> phase = Phase::not_begun;

    /// When the task that runs stalls, by StarPU's clock; infinite: none has begun.
    double stalls_at_us(const Recovery& recovery) const {
        const double begin_us = begun_us;
        if (begin_us < 0) return std::numeric_limits<double>::infinity();
        return begin_us + 1e6 * recovery.stalled_after_s(block.processor, block.units);
    }

    /// Whether its tasks still wait for results of an earlier run on another device.
    bool waits_for_kept() const {
        return tasks_left > 0 && begun_us < 0 && kept_on != data.node && data.earlier_results();
    }

    std::string range() const { return fmt::format("units {} to {}", block.first, block.first + block.units - 1); }
};

}  // namespace apportion
