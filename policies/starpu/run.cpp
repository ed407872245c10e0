// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A run from its beginning to its end; run.hpp tells it in short.
#include "policies/starpu/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <thread>
#include <utility>

#include "models/io/text.hpp"
#include "policies/config.hpp"
#include "policies/engine/core_groups.hpp"

namespace apportion {

namespace {

// Blocks per worker under StarPU's own schedulers where none are asked for: enough to balance by, few enough to be
// efficient.
constexpr Units kEqualBlocksPerWorker = 4;

}  // namespace

Run::Run(const LoadSetup& setup, const LoadDescription& description, const State& state, RunRecord record)
    : setup_(setup),
      description_(description),
      state_(state),
      begin_us_(starpu_timing_now()),
      charge_planning_(kSimulated && charge_planning_option()),
      uses_(setup.uses),
      uses_left_(uses_.size() + 1),
      record_(std::move(record)) {}

/// Where time is simulated, the thread's: nothing stands still while other programs have the CPU.
double Run::decision_clock_s() {
    timespec time{};
    clock_gettime(kSimulated ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double Run::now_s() const { return (starpu_timing_now() - begin_us_) * 1e-6; }

bool Run::on() const {
    const Lock lock(mutex_);
    return on_;
}

/// Who is called back by the release of a handle need not wait for that of the others, which its own thread makes.
bool Run::may_return() const { return released_ && (given_back_ || releaser_ == std::this_thread::get_id()); }

void Run::wait() {
    serve(Caller::program);  // its own thread may be about to
    Lock lock(mutex_);
    changed_.wait(lock, [&] { return may_return(); });
}

bool Run::data_on_the_way() const {
    return state_.kept.evacuating() ||
           std::ranges::any_of(blocks_, [this](const auto& entry) { return is_waited_for(*entry.second); });
}

bool Run::left_data_behind() const {
    const Lock lock(mutex_);
    return !on_ && data_on_the_way();
}

void Run::wait_for_data_left_behind() {
    Lock lock(mutex_);
    changed_.wait(lock, [&] { return on_ || !data_on_the_way(); });
}

void Run::begin() {
    {
        // Two runs that need the same data wait for them in the same order, not each for what the other has.
        static Mutex& one_at_a_time = *new Mutex;  // threads may outlive static objects
        const Lock lock(one_at_a_time);
        for (const apportion_use& use : uses_)
            starpu_data_acquire_on_node_cb(use.handle, STARPU_MAIN_RAM, use.mode, use_acquired, this);
    }
    tell([this](Locked& on) { acquired(on); }, Caller::program);
}

// --- Beginning ---

void Run::acquired(Locked& on) {
    if (--uses_left_ == 0) start(on);
}

/// What it waited for, tasks before it and blocks of earlier runs that others computed, is not its own time.
void Run::start(Locked& on) {
    begin_us_ = starpu_timing_now();
    if (!state_.policy) {
        start_blocks(equal_blocks({0, description_.open ? 0 : description_.units}, on), on);
        for (const UnitRange range : std::exchange(early_, {})) start_blocks(equal_blocks(range, on), on);
        return;
    }
    flow_ = decided(
        [&] {
            return std::make_unique<BlockFlow>(description_, *state_.policy, state_.previous_blocks, state_.recovery);
        },
        on);
    for (int p = 0; p < static_cast<int>(setup_.workers.size()); ++p)
        if (std::ranges::any_of(setup_.worker_of(p).ids,
                                [&](int id) { return starpu_sched_ctx_contains_worker(id, setup_.sched_ctx) == 0; }))
            lose(p, "is not in the load's scheduling context any more", on);
    ask_flow([&] { return flow_->ask_all(now_s()); }, on);
    for (const UnitRange range : std::exchange(early_, {})) ask_flow([&] { return flow_->add(range, now_s()); }, on);
}

Run::Answer Run::add(UnitRange range) {
    {
        const Lock lock(mutex_);
        if (!receiving_) return Answer::closed;
        if (range.units > 0 && boost::icl::intersects(received_, interval(range))) return Answer::there;
        received_ += interval(range);
        ++adding_;
    }
    tell(
        [this, range](Locked& on) {
            --adding_;
            if (range.units == 0 || error_ != 0) return;
            if (uses_left_ > 0)
                early_.push_back(range);
            else if (flow_)
                ask_flow([&] { return flow_->add(range, now_s()); }, on);
            else
                start_blocks(equal_blocks(range, on), on);
        },
        Caller::program);
    return Answer::taken;
}

void Run::close() {
    {
        const Lock lock(mutex_);
        receiving_ = false;
    }
    tell([](Locked&) {}, Caller::program);  // that may have been the end
}

/// As large as they would be if all units of the load came at once.
std::vector<Block> Run::equal_blocks(UnitRange range, Locked&) const {
    const Units granules = quotient_up(range.units, description_.granularity);
    const Units of_load = blocks_option().value_or(kEqualBlocksPerWorker * static_cast<Units>(setup_.workers.size()));
    const double part = static_cast<double>(range.units) / static_cast<double>(std::max(description_.units, Units{1}));
    Units count = std::max(Units{1}, static_cast<Units>(std::ceil(part * static_cast<double>(of_load))));
    for (const Worker& worker : setup_.workers) {
        const Units fitting = worker.processor.memory_units;
        if (fitting == kNoLimit) continue;
        const Units fitting_granules = fitting / description_.granularity;
        count = std::max(count, quotient_up(granules, fitting_granules));
    }
    std::vector<Block> blocks;
    for (const UnitRange part : equal_parts(range, description_.granularity, count))
        blocks.push_back(
            {static_cast<std::int64_t>(record_.blocks.size() + blocks.size()), -1, part.first, part.units});
    return blocks;
}

// --- The end ---

void Run::fail(int error, std::string_view sentence, Locked&) noexcept {
    if (error_ != 0 || !on_) return;
    error_ = error;
    record_.error = fmt::format("load '{}': {}", setup_.name, sentence);
}

/// After an error nothing is decided on pieces any more, and what an exception left half-way does not go on.
void Run::drop_what_waits(Locked& on) {
    for (auto it = blocks_.begin(); it != blocks_.end();) {
        RunningBlock& running = *(it++)->second;  // which may go
        if (running.tasks_left == 0 && running.returns_left == 0) discard(running, on);
    }
}

/// What tasks wrote into handles of the application, reductions above all, is a result as well.
void Run::bring_application_data_home(Locked& on) {
    for (const starpu_data_handle_t handle : application_handles_) {
        bring_home(handle, Return::Of::application, 0, on);
        ++returns_left_;
    }
    application_handles_.clear();
}

void Run::check_complete(Locked& on) {
    if (!on_) return;
    note_what_is_done(on);
    if (error_ == 0 && flow_ && flow_->remaining() > 0 && !flow_->anybody_left()) {
        std::string sentence =
            fmt::format("no processor is left to compute the remaining {}", counted(flow_->remaining(), "unit"));
        for (const LostProcessor& lost : record_.lost)
            sentence += fmt::format("; {}: {}", name_of(lost.processor), lost.reason);
        fail(-ENODEV, sentence, on);
    }
    if (uses_left_ > 0 || adding_ > 0 || telling_ > 0 || copies_left_ > 0 || retiring_ > 0 ||
        (receiving_ && error_ == 0))
        return;
    if (error_ != 0) drop_what_waits(on);
    // While units are left, the end of any task may be when the policy hands them out.
    const bool all_wanted = error_ == 0 && flow_ && !flow_->done();
    const auto computing = [&] {
        return std::ranges::any_of(blocks_, [&](const auto& entry) {
            const RunningBlock& block = *entry.second;
            return block.tasks_left > 0 && (is_waited_for(block) || (all_wanted && !block.cancelled()));
        });
    };
    // Most often the first block there is tells; blocks that are not filled are passed over by the second question.
    const bool moving = data_on_the_way() || returns_left_ > 0;
    if ((moving && !data_hang_) || (all_wanted && flow_->waits_for_occupied()) || computing()) {
        if (error_ != 0 && flow_) set_alarm(on);
        return;
    }
    if (error_ == 0 && flow_ && !flow_->done())
        fail(-EIO, fmt::format("no processor takes the remaining {}", counted(flow_->remaining(), "unit")), on);
    if (error_ == 0) bring_application_data_home(on);
    if (returns_left_ > 0) return;
    for (const auto& [id, running] : blocks_) {
        record_of(id, on).given_back = true;
        if (running->tasks_left > 0 && !running->cancelled()) cancel(*running, on);  // a redundant piece
    }
    end(on);
}

/// Nothing of the load is touched any more but what it left behind, so that another run may begin.
void Run::end(Locked& on) {
    record_.makespan_s = now_s();
    if (flow_) {
        record_.policy_stalls = flow_->stalls();
        const auto its_turn = [](int p) {
            return [p](const BlockRecord& b) { return b.processor == p && !b.given_up_waiting; };
        };
        for (int p = 0; p < static_cast<int>(setup_.workers.size()) && !record_.blocks.empty(); ++p)
            if (flow_->occupied(p) && std::ranges::none_of(record_.blocks, its_turn(p)) &&
                std::ranges::count(record_.lost, p, &LostProcessor::processor) == 0)
                record_.lost.push_back(
                    {p, 0, "it still computed units that were given up, of this load or another one"});
        std::vector<OwnedUnits>& previous = state_.previous_blocks;
        previous.clear();
        if (error_ == 0 && !state_.kept.empty())
            for (const BlockRecord& b : record_.blocks)
                if (!b.given_back) previous.push_back({b.processor, b.first, b.units});
        std::ranges::sort(previous, {}, &OwnedUnits::first);
    }
    if (watch_failed_)
        record_.note = fmt::format("{}{}no thread could be had for the watch: late blocks were seen late or not at all",
                                   record_.note, record_.note.empty() ? "" : "; ");
    watch_failed_ = false;
    state_.earlier.clear();
    on.to_fill.clear();
    on_ = false;
    on.over = true;
}

}  // namespace apportion
