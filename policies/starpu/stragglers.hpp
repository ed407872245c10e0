// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Blocks of a load that were taken over or given up while StarPU still has tasks of them: nothing waits for these but
// the load's destruction. They keep their runs alive. Any thread may call.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "policies/starpu/kept_data.hpp"
#include "policies/starpu/load_setup.hpp"
#include "policies/starpu/mutex.hpp"
#include "policies/starpu/running_block.hpp"

namespace apportion {

class Stragglers {
  public:
    explicit Stragglers(const LoadSetup& setup) : setup_(setup) {}

    /// From here on the block is cancelled: tasks of it that have not begun do nothing.
    void add(std::unique_ptr<RunningBlock> block, std::shared_ptr<Run> run);

    /// Of a block that may be a straggler: a task of it was given to StarPU, which only now knows whose results to
    /// forget.
    void submitted(RunningBlock& block);
    /// A task of it has ended, and had computed that long, or was refused; false: it is no straggler.
    bool task_ended(RunningBlock& block, double busy_s = 0);

    /// How long it took a processor after all to compute such a block.
    struct Measured {
        int processor = 0;
        Units units = 0;
        double busy_s = 0;
    };
    /// Those that ended since this was asked last.
    std::vector<Measured> take_measured();

    /// Processors that compute stragglers.
    std::vector<int> processors() const;

    /// When the first of them on these memory nodes stalls, by StarPU's clock; infinite: there is none.
    double stalls_at_us(const Recovery& recovery, const std::set<unsigned>& nodes) const;

    /// One that may store in main memory although its run ended with an error, or has results of an earlier run that no
    /// other memory has, in words; empty: none.
    std::string dangerous_after_error() const;
    void wait(bool only_in_main_memory = false);

    /// Of those that have ended.
    void leave_data_to(KeptData& kept);

  private:
    bool own_memory(const RunningBlock& block) const;
    bool in_main_memory(const RunningBlock& block) const { return !own_memory(block) && !block.data.apart; }
    void forget_results(RunningBlock& block) const;

    struct Owned {
        std::unique_ptr<RunningBlock> block;
        std::shared_ptr<Run> run;
        bool measured = false;  ///< its only task had begun: its time is that of all units
    };

    const LoadSetup& setup_;
    mutable Mutex mutex_;
    Condition ended_;
    std::unordered_map<const RunningBlock*, Owned> running_;
    std::vector<BlockData> ended_data_;
    std::vector<Measured> measured_;
    std::atomic<bool> any_ = false;  ///< ever
};

}  // namespace apportion
