// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The load engine: runs a divisible load's blocks as StarPU tasks.
//
// Under a policy of Apportion the flow is pulled: BlockFlow says which blocks start at the beginning and whenever one
// finishes; each is bound to its worker. Under StarPU's schedulers all blocks, of equal size, are submitted at once and
// are bound to nobody. Both share everything else: filling, handles, the way home, errors, the report.
//
// A block's life: BlockFlow hands it out -> kept data that it overlaps go home -> the application fills its tasks ->
// StarPU runs them -> written data go home (unless kept) -> recorded. The load is complete when the last is.
//
// Block tasks take no part in StarPU's sequential consistency (they are submitted while the load runs, so their order
// says nothing); the handles in `uses`, acquired for the whole run, place the load in the application's task graph.
//
// Threads: everything that changes runs under `mutex_`. Calls into StarPU that may call back at once (acquisition,
// submission) are collected while it is held and made after it is released.
#pragma once

#include <starpu.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "policies/block_flow.hpp"
#include "policies/policy.hpp"
#include "policies/starpu/apportion.h"
#include "policies/starpu/block_data.hpp"
#include "policies/starpu/report.hpp"
#include "policies/starpu/workers.hpp"

struct apportion_load {
  public:
    /// Throws apportion::ApiError when the options make no sense.
    explicit apportion_load(const apportion_load_options& options);
    ~apportion_load();
    apportion_load(const apportion_load&) = delete;
    apportion_load& operator=(const apportion_load&) = delete;

    void submit();
    int wait();
    void release_kept();

    const std::string& report();
    double seconds() const { return record_.makespan_s; }
    const char* policy_name() const { return record_.policy.c_str(); }

  private:
    using Units = apportion::Units;

    struct RunningBlock {
        apportion_load* load = nullptr;
        apportion::Block block;
        std::size_t record = 0;  ///< index in record_.blocks
        apportion::BlockData data;
        unsigned parts_left = 0;
        unsigned flushes_left = 0;  ///< evacuations of overlapping kept data that must end first
        unsigned returns_left = 0;  ///< written handles on their way home
    };
    /// Kept data of an earlier run's block on their way home, and who waits for them.
    struct Evacuation {
        Units units = 0;
        unsigned flights_left = 0;
        std::vector<RunningBlock*> waiting;
    };
    using Evacuations = std::map<Units, Evacuation>;  ///< by first unit, disjoint
    /// A handle on its way to main memory: a block's result, or part of an evacuation.
    struct Flight {
        apportion_load* load;
        starpu_data_handle_t handle;
        RunningBlock* block;  ///< null for an evacuation
        Units evacuation;     ///< its first unit
    };
    /// Calls into StarPU to be made without the lock.
    struct Outbox {
        std::vector<starpu_task*> tasks;
        std::vector<Flight*> flights;
        bool completed = false;
    };

    double now_s() const;
    int processor_of(int worker) const;
    void check_options() const;
    std::vector<apportion::Block> equal_blocks() const;
    void choose_policy();
    void look_up_profile();

    // All of these under the lock:
    void begin(Outbox& outbox);
    void start_blocks(const std::vector<apportion::Block>& blocks, Outbox& outbox);
    void take_kept(RunningBlock& running, Outbox& outbox);
    void evacuate(const apportion::BlockData& data, Outbox& outbox);
    void evacuated(Units first, Outbox& outbox);
    void returned(RunningBlock& running);
    void fill(RunningBlock& running, Outbox& outbox);
    void fail(int error, const std::string& sentence);
    void record_part(RunningBlock& running, const starpu_task& task);
    void block_computed(RunningBlock& running, Outbox& outbox);
    void block_done(RunningBlock& running);
    void check_completed(Outbox& outbox);

    /// Runs `change(outbox)` under the lock, its exceptions failing the load, then makes the collected calls.
    template <class Change>
    void locked(Change&& change);
    void send(const Outbox& outbox);
    void complete();
    void unregister_retired();

    // Called by StarPU:
    static void use_acquired(void* load);
    static void part_finished(void* running);
    static void flight_landed(void* flight);

    // Fixed by the options.
    apportion_load_options options_;
    std::string name_;
    std::string profile_name_, profile_command_;
    bool profile_looked_up_ = false;
    std::vector<apportion_use> uses_;
    unsigned sched_ctx_ = 0;
    std::vector<apportion::Worker> workers_;
    std::vector<int> processor_of_worker_;
    apportion::LoadDescription description_;

    // Between runs.
    const apportion::PolicyEntry* policy_entry_ = nullptr;  ///< null under StarPU's schedulers
    std::unique_ptr<apportion::Policy> policy_;
    std::vector<apportion::Block> previous_blocks_;
    std::map<Units, apportion::BlockData> kept_;  ///< by first unit: data that stayed on devices
    Evacuations evacuations_;
    std::vector<starpu_data_handle_t> retired_;  ///< home; StarPU wants an application thread to unregister them
    std::string report_json_;

    // The run.
    mutable starpu_pthread_mutex_t mutex_;
    starpu_pthread_cond_t finished_;
    bool running_ = false;     ///< submitted and not completed
    bool completing_ = false;  ///< the last block is done
    bool reported_ = true;     ///< the last run's report is written
    int error_ = 0;
    std::string error_sentence_;
    double begin_us_ = 0;
    unsigned uses_left_ = 0;
    std::unique_ptr<apportion::BlockFlow> flow_;
    std::unordered_map<RunningBlock*, std::unique_ptr<RunningBlock>> blocks_;
    apportion::RunRecord record_;
};
