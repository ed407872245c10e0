// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a run does when blocks fail or take too long: carries out what BlockFlow decides; run.hpp tells the states.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "policies/starpu/error.hpp"
#include "policies/starpu/run.hpp"

namespace apportion {

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
    const std::string what = fmt::format("{} failed: {}", running.range(), running.failure);
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
    // To be computed again it needs the data as they were, which may be on the device alone: first these go home.
    const bool needed = running.data.in_place || running.data.earlier_results();
    if (error_ == 0 && needed && running.kept_input) send_home(running, on);
    if (running.returns_left == 0) give_back(running, on);
}

/// Its units are for others, and nothing of it counts.
void Run::give_back(RunningBlock& running, Locked& on) {
    const bool goes_on = flow_ && error_ == 0;
    if (goes_on) {
        add_given_back(running, on);
        flow_->give_back(running.block.id);
    }
    discard(running, on);
    if (!goes_on) return;
    if (flow_->remaining() > 0 && !flow_->anybody_left()) {
        fail(-ENODEV,
             fmt::format("no processor is left to compute the remaining {} units; {}", flow_->remaining(),
                         who_was_lost(on)),
             on);
        return;
    }
    go_on(decided([&] { return flow_->ask_all(now_s()); }, on), on);
}

void Run::lose(int processor, const std::string& reason, Locked&) {
    flow_->fence(processor);
    if (std::ranges::find(record_.lost, processor, &LostProcessor::processor) == record_.lost.end())
        record_.lost.push_back({processor, now_s(), reason});
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

/// Carries out what the flow has decided, and starts what it hands out.
void Run::go_on(const std::vector<Block>& next, Locked& on) {
    const Decisions decisions = flow_->take_decisions();
    for (const std::int64_t id : decisions.dropped) piece_decided(id, false, on);
    for (const std::int64_t id : decisions.counted) piece_decided(id, true, on);
    for (const std::int64_t id : decisions.given_up)
        if (RunningBlock* running = find(id, on)) give_up(*running, on);
    start_blocks(next, on);
}

void Run::piece_decided(std::int64_t block, bool counts, Locked& on) {
    RunningBlock* piece = find(block, on);
    if (!piece) return;  // gone, as after an error
    RunningBlock& running = *piece;
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

/// Its units are computed by others, or will be, and its tasks are not waited for. Where no other processor may compute
/// them the run ends with an error.
void Run::give_up(RunningBlock& running, Locked& on) {
    const int processor = running.block.processor;
    const std::string what =
        fmt::format("{} not finished after {:.3g} s", running.range(), now_s() - begun_s(running.block.id, on));
    lose(processor, what, on);
    record_of(running.block.id, on).given_back = true;
    add_given_back(running, on);
    // What was never filled is nowhere, but perhaps its data of an earlier run.
    if (!running.yields && (running.tasks_left > 0 || running.kept_input || !running.failed.empty()))
        fail(-ETIMEDOUT,
             fmt::format("{} has {}, and no other processor can compute them, because the codelet {}; a larger "
                         "APPORTION_STALL_FACTOR waits longer",
                         setup_.worker_of(processor).processor.name, what, why_not_dropped(running, on)),
             on);
    if (running.tasks_left > 0)
        state_.stragglers->add(std::move(blocks_.extract(running.block.id).mapped()), shared_from_this());
    else if (running.returns_left == 0)
        discard(running, on);
}

std::string Run::why_not_dropped(const RunningBlock& running, Locked&) const {
    if (running.data.in_place) return "changes data in place";
    if (!running.data.foreign.empty()) return "writes handles of the application";
    if (running.data.earlier_results()) return "has results of an earlier run on the device";
    return "stores its results where others would";
}

// --- Looking ---

/// What the flow needs to know to tell which blocks are late.
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
        stood_still_s_ += overslept_s;
        if (now_s() >= data_hang_at_s(on)) give_up_data(on);
        go_on(decided([&] { return flow_->look(now_s(), error_ != 0); }, on), on);
    });
}

/// Memories of devices in which something is that has to come home, or to a block of another processor.
std::set<unsigned> Run::awaited_nodes(Locked&) const {
    std::set<unsigned> nodes;
    state_.kept.add_left_nodes(nodes);
    for (const auto& [id, running] : blocks_) {
        if (running->waits_for_kept()) nodes.insert(running->kept_on);
        if (running->returns_left > 0 && flow_->remaining() == 0) nodes.insert(running->data.node);
    }
    nodes.erase(STARPU_MAIN_RAM);
    return nodes;
}

/// When nothing is computed and a device stalls whose driver has to send what others wait for; infinite: no such data
/// are waited for.
double Run::data_hang_at_s(Locked& on) const {
    const std::set<unsigned> nodes = awaited_nodes(on);
    if (!state_.recovery || data_hang_ || nodes.empty()) return std::numeric_limits<double>::infinity();
    double at_s = (state_.stragglers->stalls_at_us(*state_.recovery, nodes) - begin_us_) * 1e-6 + stood_still_s_;
    for (std::size_t p = 0; p < setup_.workers.size(); ++p)
        if (nodes.contains(setup_.workers[p].node)) at_s = std::min(at_s, flow_->stalls_at_s(static_cast<int>(p)));
    return std::max(at_s, flow_->silent_at_s());
}

void Run::give_up_data(Locked& on) {
    const std::set<unsigned> nodes = awaited_nodes(on);
    std::string names;
    for (const Worker& worker : setup_.workers)
        if (nodes.contains(worker.node)) names += (names.empty() ? "" : " or ") + worker.processor.name;
    data_hang_ = true;
    fail(-ETIMEDOUT,
         fmt::format("{} hangs, and results that others wait for are in its memory; a larger APPORTION_STALL_FACTOR "
                     "waits longer",
                     names),
         on);
    std::vector<std::int64_t> waiting;
    for (const auto& [id, running] : blocks_)
        if (running->waits_for_kept()) waiting.push_back(id);
    for (const std::int64_t id : waiting) {
        record_of(id, on).given_back = true;
        state_.stragglers->add(std::move(blocks_.extract(id).mapped()), shared_from_this());
    }
}

void Run::set_alarm(Locked& on) {
    double hang_s = data_hang_at_s(on);
    const bool awaited = state_.recovery && !data_hang_ && !awaited_nodes(on).empty();
    if (awaited && std::isinf(hang_s)) hang_s = now_s() + BlockFlow::kUntilItBegins_s;  // the device may hang then
    const double next_s = std::min(flow_->next_look_s(now_s(), error_ != 0), hang_s);
    if (!std::isfinite(next_s)) return;
    const double at_us = begin_us_ + next_s * 1e6;
    if (wake_at_us_ > 0 && wake_at_us_ <= at_us) return;
    on.wake = bell_;
    on.wake_at_us = wake_at_us_ = at_us;
}

}  // namespace apportion
