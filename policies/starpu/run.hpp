// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One submission of a load: runs its blocks as StarPU tasks until every unit is computed and all results are where they
// belong.
//
// Under a policy of Apportion the flow is pulled: BlockFlow says which blocks start at the beginning and whenever one
// finishes; each is bound to its worker. Under StarPU's schedulers all blocks, of equal size, are submitted at once and
// are bound to no worker. Both share everything else: filling, handles, the way home, errors, the report.
//
// A block's life: BlockFlow hands it out -> kept data that it overlaps go home -> the application fills its tasks ->
// StarPU runs them -> written data go home (unless kept) -> recorded. The run is over when the last is: another one may
// begin; then the handles in `uses` are released, and whoever waits wakes.
//
// Block tasks take no part in StarPU's sequential consistency (they are submitted while the load runs, so their order
// says nothing); the handles in `uses`, acquired for the whole run, place the load in the application's task graph.
//
// Recovery (engine/recovery.hpp has the rule, run_recovery.cpp carries it out). A block that is taken over, given up or
// waits behind another load's, or a piece that is not needed, is cancelled: tasks of it that have not begun are
// skipped, and the run keeps it until the others have ended. Only the load's destruction waits for them; if they store
// in main memory (results_stay), the next submission does too. Nothing of it reaches a result: what a late task
// stores in a device's own memory is invalidated when it ends, and nothing waits for that; cores that compute units
// again, or a core's first one, write apart from the application's memory until their result counts.
//
// Threads post changes to the run. One thread at a time serves it, the first that finds that no other does: it carries
// out what was posted, under the lock, which is for those that only look, and then, without it, has a block filled. So
// nothing changes while the application fills a block, and nobody waits for that. Then it serves no more while it makes
// the calls into StarPU, which may call back at once, and looks again. The application's `done` may take long, and is
// called when nothing else is to be done. Threads of the program and of devices have other work: what is left after
// some rounds a thread of the watch goes on with, and a device's thread calls no function of the application but to
// have its own blocks filled. Functions that need the lock take a Locked.
#pragma once

#include <starpu.h>

#include <atomic>
#include <boost/icl/interval_set.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "policies/starpu/default_floating_point.hpp"
#include "policies/starpu/kept_data.hpp"
#include "policies/starpu/load_setup.hpp"
#include "policies/starpu/mutex.hpp"
#include "policies/starpu/report.hpp"
#include "policies/starpu/running_block.hpp"
#include "policies/starpu/watch.hpp"
#include "policies/starpu/written_memory.hpp"

namespace apportion {

#ifdef STARPU_SIMGRID
inline constexpr bool kSimulated = true;
#else
inline constexpr bool kSimulated = false;
#endif

class Run final : public Watched, public std::enable_shared_from_this<Run> {
  public:
    /// What a run takes from its load and hands back. Nothing else touches it while the run is on.
    struct State {
        Policy* policy = nullptr;      ///< null under StarPU's schedulers
        Recovery* recovery = nullptr;  ///< null: every block is waited for
        KeptData& kept;
        std::vector<OwnedUnits>& previous_blocks;
        std::vector<std::shared_ptr<Run>> earlier;  ///< runs that left cancelled blocks; until this one is complete
    };

    Run(const LoadSetup& setup, const LoadDescription& description, const State& state, RunRecord record);

    void begin();
    /// Until it is over, and other tasks get the handles in `uses`.
    void wait();
    /// Whether it is not over: another run of the load must not begin.
    bool on() const;

    /// Of an open load: units that are there now (`there`: some of them were, and are not done), ...
    enum class Answer { taken, there, closed };
    Answer add(UnitRange range);
    /// ... that those with which the range ends are wanted back: returns how many no worker had been given, ...
    Units withdraw(UnitRange range);
    /// ... and that no more come.
    void close();

    /// Whether something is still on its way to main memory that the run, which has ended with an error, does not wait
    /// for: a device hangs. Until it is there, nothing else may touch the load's kept data.
    bool left_data_behind() const;
    void wait_for_data_left_behind();

    /// Whether StarPU still has tasks of blocks that were taken over or given up, or something of blocks that were not
    /// waited for is to be handed over.
    bool left_something() const;
    /// After an error: such a block that may store in main memory, or has results of an earlier run that no other
    /// memory has, in words; empty: none.
    std::string why_not_submittable() const;
    void wait_for_cancelled(bool only_in_main_memory);
    /// Whether that would take time.
    bool waits_for_cancelled(bool only_in_main_memory) const;
    /// Whether another thread is still in a call into StarPU for the run, which may be over since.
    bool calls_starpu() const;
    /// Data of blocks that were not waited for and have ended, and what these taught.
    void give_data_to(const State& load);

    /// After its end: 0 or the negative error number that ended it, and the sentence.
    int error() const { return error_; }
    const std::string& sentence() const { return record_.error; }
    /// Whether it was an exception, which may have left the policy half-way.
    bool threw() const { return threw_; }
    const RunRecord& record() const { return record_; }

    /// The block whose task the calling thread runs was not computed. Throws ApiError outside of one.
    static void current_block_failed(const char* why);

    /// Whether the task is one of a load's, and not an ordinary one.
    static bool is_block_task(const starpu_task& task) { return task.callback_func == task_finished; }
    /// Such a task begins to compute on the calling worker: its data are there.
    static void task_begins(const starpu_task& task);
    /// Any task of the calling worker has ended.
    static void task_of_worker_ended(starpu_task& task);

    /// Whether the calling thread is in the application's fill function of a run of this load.
    static bool filling(const LoadSetup& setup);

  private:
    /// A handle on its way to main memory: a block's result, part of an evacuation, or the application's own.
    struct Return {
        std::shared_ptr<Run> run;
        starpu_data_handle_t handle = nullptr;
        enum class Of { block, evacuation, application } of = Of::block;
        std::int64_t number = 0;  ///< the block's, or the evacuation's
        /// Set when StarPU gets it, and read first when it comes back: StarPU hands it from thread to thread under a
        /// spin lock, which the thread sanitizer does not see.
        std::atomic<bool> handed_over = false;
        double home_us = 0;  ///< when it was there
    };

    /// The run's lock, held by the thread that serves it, and what that does without the lock, ...
    struct Locked {
        std::list<std::int64_t> to_fill;   ///< blocks, one after the other, so that the first begins before the last
        std::vector<std::int64_t> copies;  ///< of results that blocks have written apart
        // ... while others may serve, ...
        std::vector<starpu_task*> tasks;  ///< to be submitted, ...
        std::int64_t filled = -1;         ///< of this block
        bool last_tasks = false;          ///< StarPU's scheduler gets no more for now
        std::vector<std::unique_ptr<Return>> returns;
        std::list<BlockHandle> retired;
        double wake_at_us = 0;  ///< when the run is to look; 0: never
        // ... and when nothing else is to be done:
        std::vector<apportion_done> done;
        bool over = false;  ///< the run is, since this
    };
    using Change = std::function<void(Locked&)>;
    /// A thread of the program in a call of the load may hold locks that the application's `done` takes: others call
    /// that.
    enum class Caller { runtime, program };
    /// One task of a block: the units of one of its processor's workers, or a part of the work on them.
    struct TaskOf {
        UnitRange range;
        std::size_t lane = 0;
        unsigned part = 0;
    };

    /// Has `change` carried out, by this thread or by the one that serves the run. Exceptions end the run with an
    /// error.
    void tell(Change change, Caller caller = Caller::runtime) noexcept;
    /// ... before it returns. Not within a call that the run makes.
    void tell_and_wait(const Change& change, Caller caller = Caller::runtime) noexcept;
    void post(Change change);
    void serve(Caller caller) noexcept;
    bool begins_to_serve(std::vector<Change>& told, Locked& on);
    void serves_no_more(Locked& on);
    bool is_submitted(const RunningBlock& running);
    bool is_something_left(Locked& on);
    /// Runs `change()`; false: it threw, which ends the run with an error.
    bool tried(const std::function<void()>& change, Locked& on) noexcept;
    void apply(const std::vector<Change>& told, Locked& on) noexcept;
    void retire(Locked& on);
    void make_calls(Locked& on);
    void tell_done(const std::vector<apportion_done>& done);
    void release_uses(Caller caller);
    bool may_return() const;  // under the lock

    static auto interval(UnitRange range) {
        return boost::icl::interval<Units>::right_open(range.first, range.first + range.units);
    }
    double now_s() const;
    static double decision_clock_s();
    /// What `decide` answers: what the policy and the flow take is counted, and of simulated time where that is asked.
    template <class Decide>
    auto decided(Decide&& decide, Locked& on);
    /// Lets the flow decide by what is true now, and carries that out.
    template <class Decide>
    void ask_flow(Decide&& decide, Locked& on) {
        tell_flow(on);
        go_on(decided(decide, on), on);
    }

    // A block's life, in order.
    void start(Locked& on);
    std::vector<Block> equal_blocks(UnitRange range, Locked& on) const;
    void start_blocks(const std::vector<Block>& blocks, Locked& on);
    void take_kept(RunningBlock& running, Locked& on);
    void fill_later(RunningBlock& running, Locked& on);
    bool fill_next(Locked& on, bool any);
    void fill(RunningBlock& running, std::vector<starpu_task*>& tasks);
    void fill_task(RunningBlock& running, starpu_task& task, const TaskOf& what);
    std::string wrong_handle(const RunningBlock& running, const starpu_task& task);
    void check_memory(const RunningBlock& running, const starpu_task& task) const;
    void task_refused(RunningBlock& running, int error, Locked& on);
    void task_ended(RunningBlock& running, const TaskEnd& end, Locked& on);
    void record_task(RunningBlock& running, const TaskEnd& end, Locked& on);
    void block_computed(RunningBlock& running, Locked& on);
    void tell_finished(std::int64_t id, const BlockRecord& record, bool travels, Locked& on);
    void bring_home(starpu_data_handle_t handle, Return::Of of, std::int64_t number, Locked& on);
    void send_home(RunningBlock& running, Locked& on);
    void copy_home(RunningBlock& running, Locked& on);
    void copy_home(std::int64_t block);
    void returned(const Return& what, Locked& on);
    void block_returned(std::int64_t block, bool copied, double at_s, Locked& on);
    void settle(RunningBlock& running, Locked& on);
    bool changed_on_device(const RunningBlock& running, Locked& on) const;
    void block_done(RunningBlock& running, Locked& on);
    void note_what_is_done(Locked& on);
    void discard(RunningBlock& running, Locked& on);
    void settle_late(std::int64_t again_of, Locked& on);
    void fail(int error, std::string_view sentence, Locked& on) noexcept;
    void drop_what_waits(Locked& on);
    void bring_application_data_home(Locked& on);
    bool data_on_the_way() const;
    bool any_cancelled(bool only_in_main_memory) const;
    void check_complete(Locked& on);
    void end(Locked& on);
    RunningBlock* find(std::int64_t block, Locked& on);
    double begun_s(const RunningBlock& running, Locked& on) const;
    double waited_s(const RunningBlock& running, Locked& on) const;
    BlockRecord& record_of(std::int64_t block, Locked& on) {
        (void)on;
        return record_.blocks[static_cast<std::size_t>(block)];
    }

    // Recovery.
    void block_failed(RunningBlock& running, Locked& on);
    void lose(int processor, const std::string& reason, Locked& on);
    void go_on(const std::vector<Block>& next, Locked& on);
    void piece_decided(std::int64_t block, bool counts, Locked& on);
    void give_up(RunningBlock& running, bool lost, Locked& on);
    void let_go(RunningBlock& running, Locked& on);
    void take_waiting_blocks_of(int processor, Locked& on);
    bool keep_back(RunningBlock& running, Locked& on);
    void cancel(RunningBlock& running, Locked& on);
    double late_at_us(const RunningBlock& running, Locked& on) const;
    void cancelled_task_ended(RunningBlock& running, double busy_s, Locked& on);
    void give_ended_to(const State& load);  // under the lock
    void move_to_ended(RunningBlock& running, Locked& on);
    RunningBlock::Lane& lane_of(RunningBlock& running, int worker) const {
        return running.lanes[setup_.lane_of(running.block.processor, worker)];
    }
    const std::string& name_of(int processor) const { return setup_.worker_of(processor).processor.name; }
    /// Not what is cancelled, nor what will be if it still computes when everything else has ended: its input is there,
    /// on the device or where it stays.
    bool is_waited_for(const RunningBlock& running) const {
        const bool in_vain =
            running.counts == RunningBlock::Counts::no && running.tasks_left == 1 && running.computes();
        const bool keeps_input =
            running.data.own_memory || (setup_.options.results_stay != 0 && running.data.stores_apart());
        return !running.cancelled() && !(in_vain && running.yields && keeps_input);
    }
    static bool stores_at_home(const RunningBlock& running) {
        return running.may_store() && !running.data.own_memory && !running.data.stores_apart();
    }
    void look(double at_us) noexcept override;
    void tell_flow(Locked& on);
    bool awaits(unsigned node, Locked& on) const;
    void end_if_data_hang(Locked& on);
    void set_alarm(Locked& on);

    // Called by StarPU:
    static void use_acquired(void* run);
    void acquired(Locked& on);
    static void task_popped(void* running);
    static void task_finished(void* running);
    static void handle_home(void* what);

    const LoadSetup& setup_;
    const LoadDescription description_;
    State state_;

    /// Of serving without a break: one for each block that its workers have at a time. The load may be gone by then.
    const std::size_t rounds_ = 2 * setup_.workers.size();
    Mutex posts_mutex_;
    std::vector<Change> posts_;
    std::list<std::int64_t> to_fill_;       ///< what the last one to serve has left
    std::vector<std::int64_t> submitting_;  ///< blocks whose tasks a thread is handing to StarPU
    std::atomic<bool> served_ = false;      ///< a thread carries them out
    std::atomic<int> calling_ = 0;          ///< threads that make calls into StarPU
    // Of the thread that serves, the others under its lock:
    mutable Mutex mutex_;
    Condition changed_;
    bool on_ = true;         ///< not over
    bool released_ = false;  ///< it is over, and this thread gives the handles in `uses` back, ...
    std::thread::id releaser_;
    bool given_back_ = false;                   ///< ... or has
    bool receiving_ = description_.open;        ///< units may still come
    boost::icl::interval_set<Units> received_;  ///< ... and these have, and are not done,
    std::vector<UnitRange> early_;              ///< some of them before the run could begin,
    std::vector<std::int64_t> computed_;        ///< blocks that are computed, but whose input others may still read
    int error_ = 0;
    bool threw_ = false;
    bool freed_ = false;      ///< blocks have finished whose processors were not asked since
    bool data_hang_ = false;  ///< what is on its way to main memory is waited for no longer
    double begin_us_;         ///< when it was submitted, or had the handles in `uses`
    const bool charge_planning_;
    double wake_at_us_ = 0;  ///< an alarm is set; 0: none
    bool watch_failed_ = false;
    const std::vector<apportion_use> uses_;  ///< the load's, which may be gone when the last one is released
    std::size_t uses_left_ = 0;
    std::size_t adding_ = 0;                                 ///< calls of add() that have been answered and not heard
    std::size_t telling_ = 0;                                ///< calls of options.done that are being made
    std::size_t returns_left_ = 0;                           ///< of the application's handles
    std::size_t retiring_ = 0;                               ///< handles that are being unregistered
    std::size_t copies_left_ = 0;                            ///< of blocks whose results are copied home
    std::vector<starpu_data_handle_t> application_handles_;  ///< that tasks write
    WrittenMemory written_;                                  ///< by blocks, since the run began
    std::unique_ptr<BlockFlow> flow_;
    std::map<std::int64_t, std::unique_ptr<RunningBlock>> blocks_;  ///< until StarPU has nothing of them
    std::map<std::int64_t, std::unique_ptr<RunningBlock>> ended_;   ///< not waited for, until handed over
    RunRecord record_;
};

template <class Decide>
auto Run::decided(Decide&& decide, Locked&) {
    const double begin_s = decision_clock_s();
    auto answer = [&] {
        const DefaultFloatingPoint here;
        return decide();
    }();
    const double seconds = decision_clock_s() - begin_s;
    record_.planning_s += seconds;
    if (charge_planning_) starpu_sleep(static_cast<float>(seconds));
    return answer;
}

}  // namespace apportion
