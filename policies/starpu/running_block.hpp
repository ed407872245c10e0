// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One block of a run, from when it is handed out until nothing of it is with StarPU any more.
#pragma once

#include <fmt/format.h>
#include <starpu.h>

#include <atomic>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/engine/block_flow.hpp"
#include "policies/starpu/block_data.hpp"
#include "policies/starpu/mutex.hpp"
#include "policies/starpu/occupied_workers.hpp"

namespace apportion {

class Run;

struct RunningBlock {
    /// A piece of another block counts only once that is taken over.
    enum class Counts { yes, undecided, no };

    /// What one of the processor's StarPU workers computes of it: its task runs since `begun_us`, by running_us(), as
    /// if all its tasks had run without a break. Written without the run's lock, by that worker.
    struct Lane {
        std::atomic<double> begun_us = kNone_us;
        std::atomic<double> busy_s = 0;  ///< of tasks that have ended
        const starpu_task* last_ended = nullptr;
    };
    static constexpr double kNone_us = -std::numeric_limits<double>::infinity();

    Run* run = nullptr;
    Block block;
    BlockData data;
    Counts counts = Counts::yes;
    unsigned tasks_left = 0;             ///< with StarPU, or about to be
    bool to_be_filled = false;           ///< when it is its turn
    unsigned departures_left = 0;        ///< evacuations of overlapping kept data that must end before it is filled
    unsigned returns_left = 0;           ///< written handles on their way home
    bool timed = false;                  ///< a task of it that did work has been recorded
    bool changed = false;                ///< a task has changed data in place
    bool kept_input = false;             ///< its data stayed on a device since an earlier run, ...
    unsigned kept_on = STARPU_MAIN_RAM;  ///< ... this one
    std::string failure;                 ///< why one of its tasks that have ended was not computed; empty: all were
    bool yields = false;                 ///< its results can be dropped although its tasks run on
    std::optional<OccupiedWorkers> occupies;  ///< when it was cancelled, a task ran
    double taught_s = 0;                      ///< what it took, where that is to be learnt later

    std::vector<Lane> lanes;  ///< per StarPU worker of the processor

    /// Tasks that workers have taken, and whose end is not heard yet. Once it is cancelled, others do nothing, and
    /// nobody but the load's destruction waits for them. Without the run's lock.
    std::atomic<int> begun = 0;
    static constexpr int kCancelled = -1;

    /// By a worker that takes one; false: it is cancelled.
    bool begin_task() {
        int before = begun;
        while (before != kCancelled && !begun.compare_exchange_weak(before, before + 1)) continue;
        return before != kCancelled;
    }
    /// Cancels it unless a worker has a task of it now.
    bool cancel_if_none_has_begun() {
        int none = 0;
        return begun.compare_exchange_strong(none, kCancelled);
    }
    bool cancelled() const { return begun == kCancelled; }
    /// Whether a task of it may still store something.
    bool may_store() const { return tasks_left > 0 && (!cancelled() || occupies); }

    /// Since when one of its tasks runs, the first that does; kNone_us: none.
    double begun_us() const {
        double first_us = kNone_us;
        for (const Lane& lane : lanes)
            if (const double us = lane.begun_us; us > kNone_us && (first_us == kNone_us || us < first_us))
                first_us = us;
        return first_us;
    }
    /// A piece of a late block.
    bool again() const { return block.again_of >= 0; }
    bool computes() const { return begun_us() > kNone_us; }

    /// Whether its tasks still wait for results of an earlier run on another device.
    bool waits_for_kept() const {
        return tasks_left > 0 && !computes() && !cancelled() && kept_on != data.node && data.earlier_results();
    }

    /// The codelet could not compute this task. Without the run's lock, which brings it when the task ends: the thread
    /// may hold locks of the application.
    void task_fails(const starpu_task& task, const char* why) {
        const Lock lock(failures_mutex_);
        failures_.emplace(&task, why);
    }
    /// Empty: it could.
    std::string take_failure(const starpu_task& task) {
        const Lock lock(failures_mutex_);
        const auto its = failures_.extract(&task);
        return its ? std::move(its.mapped()) : std::string();
    }

    std::string range() const { return fmt::format("units {} to {}", block.first, block.first + block.units - 1); }

  private:
    Mutex failures_mutex_;
    std::map<const starpu_task*, std::string> failures_;
};

/// What is to be known of a task that has ended.
struct TaskEnd {
    bool nowhere = false;     ///< a part without work
    bool changed = false;     ///< data in place, unless it failed
    int worker = -1;          ///< that ran it
    double end_us, start_us;  ///< by StarPU's clock
    double lane_busy_s = 0;   ///< of all tasks of its worker in the block that have ended
    std::string failure;      ///< why it was not computed; empty: it was

    /// In its callback; `lane` is its worker's.
    TaskEnd(const starpu_task& task, const BlockData& data, const RunningBlock::Lane& lane);
    double busy_s() const { return (end_us - start_us) * 1e-6; }
};

}  // namespace apportion
