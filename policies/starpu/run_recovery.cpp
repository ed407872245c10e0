// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a run does when blocks fail or take too long: carries out what BlockFlow decides; run.hpp tells the states.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include "policies/starpu/error.hpp"
#include "policies/starpu/run.hpp"

namespace apportion {

namespace {

std::string range_of(const Block& block) {
    return fmt::format("units {} to {}", block.first, block.first + block.units - 1);
}

}  // namespace

// --- Failed blocks ---

void Run::current_block_failed(const char* why) {
    starpu_task* task = starpu_task_get_current();
    if (!task || !is_block_task(*task))
        throw ApiError(EPERM,
                       "apportion_block_failed: the calling thread runs no block of a load; call it in the codelet's "
                       "function or in the task's epilogue callback");
    auto* running = static_cast<RunningBlock*>(task->callback_arg);
    running->run->locked([&](Locked&) {
        running->failed.push_back(task);
        if (running->failure.empty()) running->failure = why && *why ? why : "the codelet gave no reason";
    });
}

void Run::block_failed(RunningBlock& running, Locked& on) {
    BlockRecord& record = record_of(running.block.id, on);
    record.given_back = true;
    const std::string what = fmt::format("{} failed: {}", range_of(running.block), running.failure);
    if (!flow_)
        fail(-EIO,
             fmt::format("{} ({}); only under Apportion's policies others take over, not under {}", what,
                         record_.processors[static_cast<std::size_t>(std::max(0, record.processor))].name,
                         record_.policy),
             on);
    else
        lose(running.block.processor, what, on);
    if (running.changed)
        fail(-EIO,
             what + "; other tasks of the block have changed their data in place, so that it cannot be computed again",
             on);
    // Who computes it again needs the data as they were, which may be on the device alone: first these go home.
    const bool needed = running.data.in_place || running.data.earlier_results();
    if (error_ == 0 && needed && running.kept_input) send_home(running, on);
    if (running.returns_left == 0) give_back(running, on);
}

/// Its units are for others, and nothing of it counts.
void Run::give_back(RunningBlock& running, Locked& on) {
    if (flow_ && error_ == 0) {
        add_given_back(running, on);
        flow_->give_back(running.block.id);
    }
    discard(running, on);
    if (flow_ && error_ == 0) carry_out_decisions(on);
    hand_out_again(on);
}

void Run::lose(int processor, const std::string& reason, Locked&) {
    if (flow_->fenced(processor)) return;
    flow_->fence(processor);
    record_.lost.push_back({processor, now_s(), reason});
}

/// Units that came back, and late blocks whose units somebody idle can compute again.
void Run::hand_out_again(Locked& on) {
    if (error_ != 0 || !flow_) return;
    if (flow_->remaining() > 0 && !flow_->anybody_left()) {
        fail(-ENODEV,
             fmt::format("no processor is left to compute the remaining {} units; {}", flow_->remaining(),
                         who_was_lost(on)),
             on);
        return;
    }
    const auto next = flow_->ask_all(now_s());
    carry_out_decisions(on);
    start_blocks(next, on);
    set_alarm(on);
}

void Run::add_given_back(const RunningBlock& running, Locked&) {
    const auto lost = std::ranges::find(record_.lost, running.block.processor, &LostProcessor::processor);
    if (lost != record_.lost.end()) lost->units_given_back += running.block.units;
}

std::string Run::who_was_lost(Locked&) const {
    std::string text;
    for (const LostProcessor& lost : record_.lost)
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ",
                            record_.processors[static_cast<std::size_t>(lost.processor)].name, lost.reason);
    return text;
}

// --- Late blocks ---

/// Whether units came back.
bool Run::carry_out_decisions(Locked& on) {
    const Decisions decisions = flow_->take_decisions();
    for (const std::int64_t id : decisions.dropped) piece_decided(id, false, on);
    for (const std::int64_t id : decisions.counted) piece_decided(id, true, on);
    for (const Decisions::Loss& loss : decisions.lost) {
        const RunningBlock& block = *find(loss.block, on);
        record_.lost.push_back({loss.processor, now_s(),
                                fmt::format("{} not finished after {:.3g} s", range_of(block.block), loss.ran_s)});
    }
    for (const std::int64_t id : decisions.given_up) give_up(*find(id, on), on);
    for (const Decisions::Loss& stuck : decisions.stuck) {
        RunningBlock& running = *find(stuck.block, on);
        const Worker& worker = setup_.worker_of(stuck.processor);
        fail(
            -ETIMEDOUT,
            fmt::format("{} does not finish {} for {:.3g} s, and nobody else can compute them, because the codelet {}; "
                        "a larger APPORTION_STALL_FACTOR waits longer",
                        worker.processor.name, range_of(running.block), stuck.ran_s,
                        running.data.in_place            ? "changes data in place"
                        : !running.data.foreign.empty()  ? "writes handles of the application"
                        : running.data.earlier_results() ? "has results of an earlier run on the device"
                                                         : "stores its results where others would"),
            on);
        abandon(running, on);
    }
    return !decisions.given_up.empty();
}

void Run::piece_decided(std::int64_t block, bool counts, Locked& on) {
    RunningBlock& running = *find(block, on);
    const bool computed = std::exchange(running.waiting, false);
    if (!counts) {
        record_of(block, on).given_back = true;
        running.dropped = true;
        if (computed) discard(running, on);
        return;
    }
    send_home(running, on);
    if (computed && running.returns_left == 0) block_done(running, on);
}

/// Its units are computed by others, or will be.
void Run::give_up(RunningBlock& running, Locked& on) {
    record_of(running.block.id, on).given_back = true;
    add_given_back(running, on);
    const bool begun = running.phase == RunningBlock::Phase::begun;
    if (!running.data.can_be_dropped() && (begun || running.kept_input || !running.data.foreign.empty()))
        fail(-ETIMEDOUT,
             fmt::format("{} does not finish {}, which nobody else can compute",
                         setup_.worker_of(running.block.processor).processor.name, range_of(running.block)),
             on);
    abandon(running, on);
}

/// Nobody waits for the block's tasks from here on.
void Run::abandon(RunningBlock& running, Locked& on) {
    running.phase = RunningBlock::Phase::cancelled;
    if (running.tasks_left == 0) {
        if (running.returns_left == 0) discard(running, on);
        return;
    }
    any_straggler_ = true;
    if (setup_.worker_of(running.block.processor).processor.own_memory && !running.data.earlier_results())
        running.data.forget_results();
    auto owned = blocks_.extract(running.block.id);
    stragglers_.emplace(&running, std::move(owned.mapped()));
}

/// Its last task has ended, or none was submitted.
void Run::straggler_ended(RunningBlock& running, Locked&) {
    if (running.data.earlier_results()) {
        straggled_.push_back(std::move(running.data));
    } else {
        if (setup_.worker_of(running.block.processor).processor.own_memory) running.data.forget_results();
        for (const BlockHandle& h : running.data.handles) retired_.push_back(h.handle);
    }
    const auto owned = stragglers_.extract(&running);
    if (!stragglers_.empty()) return;
    STARPU_PTHREAD_COND_BROADCAST(&changed_);
}

bool Run::has_stragglers() const {
    STARPU_PTHREAD_MUTEX_LOCK(&mutex_);
    const bool any = !stragglers_.empty();
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_);
    return any;
}

std::string Run::straggler_in_main_memory() const {
    std::string sentence;
    STARPU_PTHREAD_MUTEX_LOCK(&mutex_);
    for (const auto& [running, owned] : stragglers_) {
        const Processor& processor = setup_.worker_of(running->block.processor).processor;
        if (!processor.own_memory && !running->data.apart)
            sentence = fmt::format("{} has still not finished {} of an earlier submission", processor.name,
                                   range_of(running->block));
    }
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_);
    return sentence;
}

void Run::wait_for_stragglers() {
    STARPU_PTHREAD_MUTEX_LOCK(&mutex_);
    while (!stragglers_.empty()) STARPU_PTHREAD_COND_WAIT(&changed_, &mutex_);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_);
}

std::vector<starpu_data_handle_t> Run::take_retired() {
    STARPU_PTHREAD_MUTEX_LOCK(&mutex_);
    auto retired = std::exchange(retired_, {});
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_);
    return retired;
}

std::vector<BlockData> Run::take_kept() {
    STARPU_PTHREAD_MUTEX_LOCK(&mutex_);
    auto kept = std::exchange(straggled_, {});
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_);
    return kept;
}

void Run::leave_out_busy_ones_of(const Run& before) {
    STARPU_PTHREAD_MUTEX_LOCK(&before.mutex_);
    for (const auto& [running, owned] : before.stragglers_)
        left_out_[static_cast<std::size_t>(running->block.processor)] = true;
    STARPU_PTHREAD_MUTEX_UNLOCK(&before.mutex_);
    if (std::ranges::find(left_out_, false) == left_out_.end()) left_out_.assign(left_out_.size(), false);
}

// --- Looking ---

/// What the flow needs to know to tell who is late.
void Run::tell_begins(Locked& on) {
    for (const auto& [id, running] : blocks_) {
        if (running->told_begin || running->begun_us < 0 || running->tasks_left == 0) continue;
        running->told_begin = true;
        // As if its tasks had run without a break.
        flow_->begins(id, (running->begun_us - begin_us_) * 1e-6 - record_of(id, on).busy_s);
    }
}

void Run::look(double overslept_s) noexcept {
    locked([&](Locked& on) {
        wake_at_us_ = 0;
        if (completing_ || !flow_) return;
        tell_begins(on);
        flow_->stood_still(overslept_s);
        if (error_ != 0) {
            for (const std::int64_t id : flow_->stalled_blocks(now_s()))
                if (RunningBlock* running = find(id, on)) abandon(*running, on);
            return;
        }
        const auto next = flow_->look(now_s());
        const bool came_back = carry_out_decisions(on);
        start_blocks(next, on);
        if (came_back) hand_out_again(on);
        set_alarm(on);
    });
}

void Run::set_alarm(Locked& on) {
    const double next_s = error_ == 0 ? flow_->next_look_s(now_s()) : flow_->next_stall_s(now_s());
    if (!std::isfinite(next_s)) return;
    const double at_us = begin_us_ + next_s * 1e6;
    if (wake_at_us_ > 0 && wake_at_us_ <= at_us) return;
    on.wake = bell_;
    on.wake_at_us = wake_at_us_ = at_us;
}

}  // namespace apportion
