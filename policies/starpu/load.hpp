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
// Recovery (load_recovery.cpp, load_late_blocks.cpp), under Apportion's policies, a watchdog asks processor_watch.hpp:
//  - a processor whose block failed (apportion_block_failed), or does not answer, is lost: it gets no more blocks in
//    this run, and others compute the units of its unfinished ones, which are abandoned.
//  - units of a block that is merely late are computed by others, too, when they have nothing else to do. Who is done
//    first counts, the other is superseded: marked as given back, and abandoned if it still runs.
// Nobody waits for the tasks of an abandoned block or brings its data home, tasks that have not begun are skipped, and
// what is left of it stays until the last task has ended, which destroying the load waits for. What others may do
// meanwhile depends on where it computes:
//  - in a device's own memory: late results are dropped with the block's handles. Later submissions run beside it,
//    without the device if it seems to be gone.
//  - in main memory (CPU workers): late results are stored where they belong. So nobody computes there what another may
//    still be computing, unless the application leaves the results alone and stores each once (results_stay): then the
//    load is not submitted again before such tasks have ended. Without it idle CPU workers take over what a device
//    is late with for good, which is lost for this run, when they would lose more by waiting for it.
// Data that a task changes in place cannot be computed twice, and handles of the application are locked by the task
// that writes them: where a block with such data may have begun, the load ends with an error.
//
// Threads: everything that changes runs under `mutex_`. Calls into StarPU that may call back at once (acquisition,
// submission) are collected while it is held and made after it is released.
#pragma once

#include <starpu.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "policies/block_flow.hpp"
#include "policies/policy.hpp"
#include "policies/processor_watch.hpp"
#include "policies/starpu/apportion.h"
#include "policies/starpu/block_data.hpp"
#include "policies/starpu/report.hpp"
#include "policies/starpu/watchdog.hpp"
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

    /// The block whose task the calling thread runs was not computed. Throws ApiError outside of one.
    static void current_block_failed(const char* why);

    /// Whether the task is one of a load's, and not an ordinary one.
    static bool is_block_task(const starpu_task& task) { return task.callback_func == part_finished; }

  private:
    using Units = apportion::Units;

    /// Whether a task of a block that may be abandoned can still be kept from running.
    enum class Phase { not_begun, begun, cancelled };

    static constexpr double kSoonestLook_s = 1.5e-3;  ///< the watchdog's, from look to look at least

    struct RunningBlock {
        apportion_load* load = nullptr;
        apportion::Block block;
        std::size_t record = 0;  ///< index in record_.blocks
        apportion::BlockData data;
        unsigned parts_left = 0;
        unsigned flushes_left = 0;  ///< evacuations of overlapping kept data that must end first
        unsigned returns_left = 0;  ///< written handles on their way home
        double submitted_s = -1;    ///< its tasks were given to StarPU; negative: not yet
        double submitted_us = 0;    ///< the same by StarPU's clock
        std::atomic<Phase> phase = Phase::not_begun;
        bool timed = false;        ///< a task of it that did work has been recorded
        bool in_place = false;     ///< a task of it changes data that it also reads
        bool writes_uses = false;  ///< a task of it writes data that the application registered
        bool changed = false;      ///< ... and was computed
        bool kept_input = false;   ///< its data stayed on the device since an earlier run
        bool late = false;         ///< others may compute its units, too
        bool superseded = false;   ///< ... and were done first, or it is a copy of one that was
        bool abandoned = false;
        int run = 0;                             ///< RunRecord::run
        std::vector<const starpu_task*> failed;  ///< tasks that were not computed
        std::string failure;                     ///< why
    };
    using Blocks = std::unordered_map<RunningBlock*, std::unique_ptr<RunningBlock>>;
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
    void reset_run();
    void begin(Outbox& outbox);
    void start_blocks(const std::vector<apportion::Block>& blocks, Outbox& outbox);
    void take_kept(RunningBlock& running, Outbox& outbox);
    void evacuate(const apportion::BlockData& data, Outbox& outbox);
    void evacuated(Units first, Outbox& outbox);
    void returned(RunningBlock& running, Outbox& outbox);
    void fill(RunningBlock& running, Outbox& outbox);
    static void note_modes(RunningBlock& running, const starpu_task& task);
    void fail(int error, const std::string& sentence);
    void part_ended(RunningBlock& running, const starpu_task& task, Outbox& outbox);
    void record_part(RunningBlock& running, const starpu_task& task);
    void send_home(RunningBlock& running, Outbox& outbox);
    void block_computed(RunningBlock& running, Outbox& outbox);
    void block_done(RunningBlock& running);
    void check_completed(Outbox& outbox);

    // Recovery, under the lock:
    void lose(int processor, const std::string& reason);
    void lose_busy_ones();
    bool can_be_late(const RunningBlock& running) const;
    const RunningBlock* abandoned_in_main_memory() const;
    void give_back(RunningBlock& running);
    void block_failed(RunningBlock& running, Outbox& outbox);
    void abandon(RunningBlock& running);
    void leave_alone(RunningBlock& running);
    void lay_to_rest(RunningBlock& running, Outbox& outbox);
    void abandon_blocks_of(int processor, const std::string& reason);
    void hand_out_again(Outbox& outbox);
    std::vector<int> idle_ones() const;
    std::vector<RunningBlock*> oldest_blocks() const;
    apportion::ProcessorWatch::Verdict judge(const RunningBlock& running, double now_s,
                                             const std::vector<int>& idle) const;
    bool others_are_left(const std::vector<RunningBlock*>& late) const;
    void judge_blocks(Outbox& outbox);
    bool mark_late(RunningBlock& oldest, double waited_s);
    double seconds_until_late(double now_s) const;
    void settle_superseded();
    void record_unanswered();
    void look_if_somebody_idles(Outbox& outbox);
    void forecast(const RunningBlock& running, const std::vector<starpu_task*>& tasks);
    std::string range_of(const apportion::Block& block) const;
    std::string who_was_lost() const;
    double look_for_late_blocks(double overslept_s, Outbox& outbox);

    double look(double overslept_s);
    void watch();
    void wait_for_abandoned();
    void wait_for_late_results();

    /// Runs `change(outbox)` under the lock, its exceptions failing the load, then makes the collected calls.
    template <class Change>
    void locked(Change&& change);
    void send(const Outbox& outbox);
    void complete();
    void unregister_retired();

    // Called by StarPU:
    static void use_acquired(void* load);
    static void part_begins(void* running);
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
    double stall_factor_ = 0;

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
    Blocks blocks_;
    Blocks abandoned_;  ///< also of earlier runs
    apportion::ProcessorWatch watch_;
    std::unique_ptr<apportion::Watchdog> watchdog_;
    starpu_codelet skipped_{};  ///< does nothing, with the data of the load's codelet
    apportion::RunRecord record_;
};
