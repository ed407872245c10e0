// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a run does when blocks fail or take too long: carries out what BlockFlow decides; run.hpp tells the states.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "policies/starpu/error.hpp"
#include "policies/starpu/run.hpp"

namespace apportion {

// --- Failed blocks ---

void Run::current_block_failed(const char* why) {
    starpu_task* task = starpu_task_get_current();
    if (!task || !is_block_task(*task) || !task->callback_arg)  // in `fill` or `done`, after the end of a task
        throw ApiError(EPERM,
                       "apportion_block_failed: the calling thread runs no block of a load; call it in the codelet's "
                       "function or in the task's epilogue callback");
    auto* running = static_cast<RunningBlock*>(task->callback_arg);
    running->task_fails(*task, why && *why ? why : "the codelet gave no reason");
}

void Run::block_failed(RunningBlock& running, Locked& on) {
    const std::string what = fmt::format("{} failed: {}", running.range(), running.failure);
    if (flow_)
        lose(running.block.processor, what, on);
    else
        fail(-EIO,
             fmt::format("{} ({}); only under Apportion's policies others take over, not under {}", what,
                         name_of(std::max(0, record_of(running.block.id, on).processor)), record_.policy),
             on);
    if (running.changed)
        fail(-EIO,
             what + "; other tasks of the block have changed their data in place, so that it cannot be computed again",
             on);
    // To be computed again it needs the data as they were, which may be on the device alone: first these go home.
    const bool needed = running.data.in_place || running.data.earlier_results();
    if (error_ == 0 && needed && running.kept_input) send_home(running, on);
    if (running.returns_left == 0) discard(running, on);
}

void Run::lose(int processor, const std::string& reason, Locked&) {
    flow_->fence(processor);
    if (std::ranges::find(record_.lost, processor, &LostProcessor::processor) == record_.lost.end())
        record_.lost.push_back({processor, now_s(), reason});
}

// --- Late blocks ---

/// Carries out what the flow has decided, and starts what it hands out.
void Run::go_on(const std::vector<Block>& next, Locked& on) {
    const Decisions decisions = flow_->take_decisions();
    for (const std::int64_t id : decisions.dropped) piece_decided(id, false, on);
    for (const std::int64_t id : decisions.counted) piece_decided(id, true, on);
    for (const std::int64_t id : decisions.given_up)
        if (RunningBlock* running = find(id, on))
            give_up(*running, std::ranges::count(decisions.lost, running->block.processor) > 0, on);
    start_blocks(next, on);
}

void Run::piece_decided(std::int64_t block, bool counts, Locked& on) {
    RunningBlock* piece = find(block, on);
    if (!piece) return;  // gone, as after an error
    piece->counts = counts ? RunningBlock::Counts::yes : RunningBlock::Counts::no;
    if (piece->tasks_left > 0 || (counts && piece->to_be_filled)) return;  // it is in flight, or will be, or fails
    if (counts) send_home(*piece, on);
    settle(*piece, on);
}

/// Its units are computed by others, or will be, and its tasks are not waited for. Where no other processor may compute
/// them the run ends with an error.
void Run::give_up(RunningBlock& running, bool lost, Locked& on) {
    const int processor = running.block.processor;
    const std::string what = fmt::format("{} not finished after {:.3g} s", running.range(), waited_s(running, on));
    if (lost) lose(processor, what, on);
    // What was never filled is nowhere, but perhaps its data of an earlier run.
    if (!running.yields && (running.tasks_left > 0 || running.kept_input || !running.failure.empty()))
        fail(-ETIMEDOUT,
             fmt::format("{} has {}, and no other processor can compute them, because the codelet {}; a larger "
                         "APPORTION_STALL_FACTOR waits longer",
                         name_of(processor), what, running.data.why_not_dropped(setup_.options.results_stay != 0)),
             on);
    let_go(running, on);
}

/// Nothing of it counts, nor is waited for.
void Run::let_go(RunningBlock& running, Locked& on) {
    if (running.tasks_left > 0) {
        cancel(running, on);
        settle_late(running.block.again_of, on);
    } else if (running.returns_left == 0) {
        discard(running, on);
    }
}

/// Those that wait behind a task that computes for nobody are for others.
void Run::take_waiting_blocks_of(int processor, Locked& on) {
    const auto blocks = flow_->in_flight(processor);
    for (const BlockInFlight& block : std::vector(blocks.begin(), blocks.end()))
        if (RunningBlock* running = find(block.id, on); running && keep_back(*running, on)) {
            record_of(block.id, on).given_up_waiting = true;
            flow_->give_back(block.id);
            let_go(*running, on);
        }
}

/// Makes sure that a waiting block can no longer store where others will. False: it does not wait, or nobody else can
/// have its data.
bool Run::keep_back(RunningBlock& running, Locked&) {
    if (running.tasks_left == 0) return !running.timed;  // it is not filled
    if (running.computes() || running.changed || kSimulated) return false;
    if (running.data.earlier_results() || !running.data.foreign.empty()) return false;
    return running.yields || running.cancel_if_none_has_begun();
}

// --- Cancelled blocks, while StarPU has tasks of them ---

/// Its tasks are not waited for, those that have not begun do nothing, and what it stores on its device never goes
/// home.
void Run::cancel(RunningBlock& running, Locked& on) {
    BlockRecord& record = record_of(running.block.id, on);
    record.given_back = true;
    if (running.computes()) record.start_s = begun_s(running, on);
    const bool runs = running.begun.exchange(RunningBlock::kCancelled) > 0;
    if (runs || kSimulated)
        running.occupies.emplace(setup_.worker_of(running.block.processor).ids, late_at_us(running, on));
    if (is_submitted(running)) running.data.forget_results();  // if not, when its tasks have ended
}

/// By running_us().
double Run::late_at_us(const RunningBlock& running, Locked&) const {
    const Block& block = running.block;
    const double late_after_s = state_.recovery ? state_.recovery->late_after_s(block.processor, block.units) : 0;
    // It may have ended, and nobody has heard of that yet.
    const double begun_us = running.computes() ? running.begun_us() : running_us();
    return begun_us + 1e6 * late_after_s;
}

void Run::cancelled_task_ended(RunningBlock& running, double busy_s, Locked& on) {
    if (--running.tasks_left > 0) return;
    const bool measures = running.occupies && setup_.options.parts == 1 && running.lanes.size() == 1 &&
                          !running.again() && running.failure.empty();
    running.taught_s = measures ? busy_s : 0;
    running.occupies.reset();
    running.data.forget_results();
    move_to_ended(running, on);
    if (on_) settle_late(running.block.again_of, on);
    if (on_ && flow_ && description_.open && error_ == 0)  // it may compute again
        ask_flow([&] { return flow_->look(now_s()); }, on);
}

void Run::move_to_ended(RunningBlock& running, Locked&) {
    ended_.insert(blocks_.extract(running.block.id));
    changed_.notify_all();
}

bool Run::left_something() const {
    const Lock lock(mutex_);
    return !blocks_.empty() || !ended_.empty();
}

std::string Run::why_not_submittable() const {
    const Lock lock(mutex_);
    for (const auto& [id, block] : blocks_)
        if (error_ != 0 && block->cancelled() && (stores_at_home(*block) || block->data.earlier_results()))
            return fmt::format("{} has still not finished {} of an earlier submission", name_of(block->block.processor),
                               block->range());
    return {};
}

bool Run::any_cancelled(bool only_in_main_memory) const {
    return std::ranges::any_of(blocks_, [&](const auto& entry) {
        return entry.second->cancelled() && (!only_in_main_memory || stores_at_home(*entry.second));
    });
}

void Run::wait_for_cancelled(bool only_in_main_memory) {
    Lock lock(mutex_);
    changed_.wait(lock, [&] { return !any_cancelled(only_in_main_memory); });
}

bool Run::waits_for_cancelled(bool only_in_main_memory) const {
    const Lock lock(mutex_);
    return any_cancelled(only_in_main_memory);
}

void Run::give_data_to(const State& load) {
    const Lock lock(mutex_);
    give_ended_to(load);
}

void Run::give_ended_to(const State& load) {
    for (; !ended_.empty(); ended_.erase(ended_.begin())) {
        RunningBlock& its = *ended_.begin()->second;
        if (its.cancelled()) {
            load.kept.keep_earlier(std::move(its.data));
        } else if (!its.failure.empty()) {
            its.data.node = STARPU_MAIN_RAM;
            its.data.forget_results();
            load.kept.keep_earlier(std::move(its.data));
        } else {
            load.kept.keep(std::move(its.data));
        }
        const double busy_s = std::exchange(its.taught_s, 0);
        if (busy_s <= 0) continue;
        if (load.recovery) load.recovery->finished(its.block.processor, its.block.units, busy_s, busy_s);
        if (load.policy) load.policy->late_block_ended(its.block.processor, its.block.units, busy_s);
    }
}

// --- Looking ---

/// What the flow needs to know to tell which blocks are late, and who computes something else.
void Run::tell_flow(Locked& on) {
    for (const auto& run : state_.earlier) run->give_data_to(state_);
    if (description_.open) give_ended_to(state_);  // it may last forever
    for (const auto& [id, running] : blocks_)
        if (running->tasks_left > 0) flow_->begins(id, running->computes() ? begun_s(*running, on) : -1);
    const std::weak_ptr<Watched> asking = weak_from_this();
    for (int p = 0; p < static_cast<int>(setup_.workers.size()); ++p) {
        const auto state = OccupiedWorkers::of(setup_.worker_of(p).ids, asking);
        flow_->set_occupied(p, state != OccupiedWorkers::State::free, state == OccupiedWorkers::State::soon_free);
        if (state == OccupiedWorkers::State::occupied && flow_->do_without(p)) take_waiting_blocks_of(p, on);
    }
}

void Run::look(double at_us) noexcept {
    tell([this, at_us](Locked& on) {
        if (wake_at_us_ <= at_us) wake_at_us_ = 0;  // an earlier alarm may have been replaced
        if (!on_ || !flow_) return;
        tell_flow(on);
        end_if_data_hang(on);
        go_on(decided([&] { return flow_->look(now_s(), error_ != 0); }, on), on);
    });
}

/// Whether something has to come from this memory of a device, home or to a block of another processor.
bool Run::awaits(unsigned node, Locked&) const {
    const auto comes_from_there = [&](const auto& entry) {
        const RunningBlock& block = *entry.second;
        return (block.waits_for_kept() && block.kept_on == node) ||
               (block.returns_left > 0 && flow_->remaining() == 0 && block.data.node == node);
    };
    return state_.kept.leaves(node) || std::ranges::any_of(blocks_, comes_from_there);
}

/// Where nothing is computed, and a device stalls whose driver has to send what others wait for.
void Run::end_if_data_hang(Locked& on) {
    if (!state_.recovery || data_hang_ || now_s() < flow_->silent_at_s()) return;
    int hung = -1;
    const auto look_at = [&](const Run& run) {
        for (const auto& [id, its] : run.blocks_) {
            const double stalls_s = state_.recovery->stalled_after_s(its->block.processor, its->block.units);
            const bool stalls = its->computes() && now_s() >= begun_s(*its, on) + stalls_s;
            if (stalls && its->data.own_memory && awaits(its->data.node, on)) hung = its->block.processor;
        }
    };
    look_at(*this);
    for (const auto& run : state_.earlier) {
        const Lock lock(run->mutex_);
        look_at(*run);
    }
    if (hung < 0) return;
    data_hang_ = true;
    fail(-ETIMEDOUT,
         fmt::format("{} hangs, and results that others wait for are in its memory; a larger APPORTION_STALL_FACTOR "
                     "waits longer",
                     name_of(hung)),
         on);
    for (const auto& [id, running] : blocks_)
        if (running->waits_for_kept()) cancel(*running, on);
}

void Run::set_alarm(Locked& on) {
    if (!state_.recovery) return;
    // A task begins without a word, and data hang without one.
    const double now_s = this->now_s(), at_least_s = now_s + asked_again_after_s(now_s);
    const double at_us = begin_us_ + std::min(flow_->next_look_s(now_s), at_least_s) * 1e6;
    if (wake_at_us_ > 0 && wake_at_us_ <= at_us) return;
    on.wake_at_us = wake_at_us_ = at_us;
}

}  // namespace apportion
