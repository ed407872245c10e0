// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The life of a run's blocks, from when they are handed out; run.hpp tells it in short.
#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "policies/starpu/run.hpp"

namespace apportion {

void Run::start_blocks(const std::vector<Block>& blocks, Locked& on) {
    for (const Block& block : blocks) {
        assert(static_cast<std::size_t>(block.id) == record_.blocks.size());
        record_.blocks.push_back({block.processor, block.first, block.units, now_s()});
        RunningBlock& running = *(blocks_[block.id] = std::make_unique<RunningBlock>());
        running.run = this;
        running.block = block;
        running.data.first = block.first;
        running.data.units = block.units;
        running.lanes =
            std::vector<RunningBlock::Lane>(block.processor < 0 ? 1 : setup_.worker_of(block.processor).ids.size());
        running.data.lanes = running.lanes.size();
        running.data.node = block.processor < 0 ? STARPU_MAIN_RAM : setup_.worker_of(block.processor).node;
        if (running.again()) running.counts = RunningBlock::Counts::undecided;
        running.data.own_memory = block.processor >= 0 && setup_.worker_of(block.processor).processor.own_memory;
        running.data.apart =
            !running.data.own_memory && (running.again() || (block.apart && setup_.options.parts == 1));
        running.data.may_be_in_place = !running.again();
        running.data.stays = !running.again() && !running.data.apart && !description_.open;
        running.data.room = block.room;
        if (running.data.own_memory && block.room > block.units)
            running.data.buffers = &state_.kept.buffers_on(running.data.node);
        if (running.again()) {
            const auto late = static_cast<std::size_t>(block.again_of);
            if (std::ranges::find(record_.late, late, &LateBlock::block) == record_.late.end())
                record_.late.push_back({late, now_s(), waited_s(*blocks_.at(block.again_of), on)});
        } else {
            take_kept(running, on);
        }
        if (running.departures_left == 0) fill_later(running, on);
    }
}

void Run::fill_later(RunningBlock& running, Locked& on) {
    on.to_fill.push_back(running.block.id);
    running.to_be_filled = true;
}

/// Since it began; 0, if it has not.
double Run::waited_s(const RunningBlock& running, Locked& on) const {
    const double begun_s = this->begun_s(running, on);
    return std::max(0.0, now_s() - begun_s);
}

/// As if the program had not stood still since, and its tasks had run without a break; now, if it has not begun.
double Run::begun_s(const RunningBlock& running, Locked&) const {
    const double begun_us = running.begun_us();
    return begun_us > RunningBlock::kNone_us ? (begun_us + stood_still_us() - begin_us_) * 1e-6 : now_s();
}

void Run::take_kept(RunningBlock& running, Locked& on) {
    const auto depart = [&](starpu_data_handle_t handle, Units evacuation) {
        bring_home(handle, Return::Of::evacuation, evacuation, on);
    };
    if (auto kept = state_.kept.take(running.data, depart)) {
        running.kept_input = true;
        running.kept_on = kept->node;
        record_of(running.block.id, on).data_there = kept->node == running.data.node;
        kept->node = running.data.node;
        kept->own_memory = running.data.own_memory;
        kept->buffers = running.data.buffers;
        kept->room = running.data.room;
        running.data = std::move(*kept);
        running.data.use_again();
    }
    running.departures_left = state_.kept.wait_for_home(running.block.id, running.block.first, running.block.units);
}

// --- Running ---

void Run::task_popped(void* arg) {
    auto* running = static_cast<RunningBlock*>(arg);
    [[maybe_unused]] const bool runs = running->begin_task();
#ifndef STARPU_SIMGRID
    starpu_task* task = starpu_task_get_current();
    if (runs)
        running->data.make_copies(*task);
    else
        task->cl = const_cast<starpu_codelet*>(&running->run->setup_.skipped);
#endif
}

void Run::task_begins(const starpu_task& task) {
    auto* running = static_cast<RunningBlock*>(task.callback_arg);
    RunningBlock::Lane& lane = running->run->lane_of(*running, starpu_worker_get_id());
    lane.begun_us = running_us() - 1e6 * lane.busy_s;
}

namespace {
/// When the last task of a StarPU worker ended, and the one before it, by StarPU's clock. Used by the worker's thread.
struct LastEnds {
    double at_us = RunningBlock::kNone_us, before_us = RunningBlock::kNone_us;
};
std::array<LastEnds, STARPU_NMAXWORKERS> last_ends;

/// Whether its kernel is queued behind those that its worker has already.
bool is_queued(const starpu_task& task, int worker) {
    const auto kind = starpu_worker_get_type(worker);
    const auto implementation = starpu_task_get_implementation(const_cast<starpu_task*>(&task));
    const char flags = kind == STARPU_CUDA_WORKER     ? task.cl->cuda_flags[implementation]
                       : kind == STARPU_OPENCL_WORKER ? task.cl->opencl_flags[implementation]
                                                      : 0;
    return (flags & (STARPU_CUDA_ASYNC | STARPU_OPENCL_ASYNC)) != 0;
}
}  // namespace

void Run::task_of_worker_ended(starpu_task& task) {
    const int worker = starpu_worker_get_id();
    if (worker < 0) return;
    if (is_block_task(task) && task.callback_arg) {
        auto* running = static_cast<RunningBlock*>(task.callback_arg);
        if (running->block.processor < 0) return;
        const starpu_task* const before = std::exchange(running->run->lane_of(*running, worker).last_ended, &task);
        if (before == &task) return;  // told by another context
    }
    LastEnds& its = last_ends[static_cast<std::size_t>(worker)];
    its.before_us = std::exchange(its.at_us, starpu_timing_now());
}

/// StarPU has measured it, unless the program has switched profiling off meanwhile. Then it began when its worker took
/// it, and not before the last one there ended; where StarPU's schedulers run, nobody knows.
///
/// StarPU takes a queued kernel to begin when all calls that the end of the one before it leads to have been made. It
/// did when that one ended.
TaskEnd::TaskEnd(const starpu_task& ended, const BlockData& data, const RunningBlock::Lane& lane)
    : nowhere(ended.where == STARPU_NOWHERE),
      changed(!nowhere && data.changed_by(ended)),
      worker(starpu_worker_get_id()),
      end_us(starpu_timing_now()),
      start_us(end_us) {
    if (nowhere) return;
    const auto before_us = [this] { return last_ends[static_cast<std::size_t>(worker)].before_us; };
    starpu_profiling_task_info* const info = ended.profiling_info;
    const double from_us = info ? starpu_timing_timespec_to_us(&info->start_time) : 0;
    const double to_us = info ? starpu_timing_timespec_to_us(&info->end_time) : 0;
    if (from_us > 0 && to_us > 0) {
        worker = info->workerid;
        start_us = from_us;
        end_us = to_us;
        const bool was_there = starpu_timing_timespec_to_us(&info->acquire_data_end_time) <= before_us();
        if (was_there && before_us() < start_us && is_queued(ended, worker)) start_us = before_us();
    } else if (lane.last_ended == &ended) {
        const double begun_us = lane.begun_us + 1e6 * lane.busy_s + stood_still_us();
        start_us = std::clamp(begun_us, std::min(before_us(), end_us), end_us);
    }
}

void Run::task_finished(void* arg) {
    auto* running = static_cast<RunningBlock*>(arg);
    Run* run = running->run;
    starpu_task* task = starpu_task_get_current();
    task->cl = run->setup_.options.codelet;  // a skipped task had another
    RunningBlock::Lane& lane = run->lane_of(*running, starpu_worker_get_id());
    TaskEnd end(*task, running->data, lane);
    if (!end.nowhere) {
        end.lane_busy_s = lane.busy_s += end.busy_s();
        lane.begun_us = RunningBlock::kNone_us;  // while its end waits to be heard it is not late
        end.failure = running->take_failure(*task);
    }
    task->callback_arg = nullptr;  // what is called from here on runs no block
    const auto ended = [=](Locked& on) { run->task_ended(*running, end, on); };
    // What does not count is forgotten before the device's memory is used for something else; not while tasks of the
    // block are still to be submitted, which StarPU would find without a value.
    const bool cancelled = running->cancelled();
    const bool only_one = running->lanes.size() * run->setup_.options.parts == 1;
    if (cancelled && (only_one || run->is_submitted(*running))) running->data.forget_results();
    if (!end.nowhere && running->data.own_memory && running->again() && !cancelled)
        run->tell_and_wait(ended);
    else
        run->tell(ended);
}

void Run::task_ended(RunningBlock& running, const TaskEnd& end, Locked& on) {
    if (running.failure.empty()) running.failure = end.failure;
    if (running.cancelled()) {
        cancelled_task_ended(running, end.busy_s(), on);
        return;
    }
    if (!end.nowhere && running.block.processor >= 0) --running.begun;
    record_task(running, end, on);
    if (end.failure.empty() && end.changed) running.changed = true;
    if (--running.tasks_left > 0) return;
    if (running.failure.empty())
        block_computed(running, on);
    else
        block_failed(running, on);
}

void Run::record_task(RunningBlock& running, const TaskEnd& end, Locked& on) {
    // A part without work (STARPU_NOWHERE) takes no time; it counts where the block has no other.
    if (end.nowhere && (running.timed || running.tasks_left > 1)) return;
    const double end_s = (end.end_us - begin_us_) * 1e-6;
    const double start_s = (end.start_us - begin_us_) * 1e-6;
    BlockRecord& record = record_of(running.block.id, on);
    record.start_s = running.timed ? std::min(record.start_s, start_s) : start_s;
    record.end_s = running.timed ? std::max(record.end_s, end_s) : end_s;
    running.timed = true;
    record.busy_s = std::max(record.busy_s, end.lane_busy_s);
    if (record.processor < 0) record.processor = std::max(0, setup_.processor_of(end.worker));  // nowhere: somebody's
}

void Run::block_computed(RunningBlock& running, Locked& on) {
    BlockRecord& record = record_of(running.block.id, on);
    record.home_s = record.end_s;
    if (running.counts == RunningBlock::Counts::yes) send_home(running, on);
    const std::int64_t id = running.block.id;
    const bool travels = running.returns_left > 0 && running.data.own_memory;
    if (flow_ && error_ == 0) tried([&] { tell_finished(id, record, travels, on); }, on);
    // The decision on a piece may have come with it.
    if (RunningBlock* still = find(id, on)) settle(*still, on);
}

/// Nothing of it is with StarPU any more, unless it still goes home or waits to.
void Run::settle(RunningBlock& running, Locked& on) {
    if (running.returns_left > 0 || running.counts == RunningBlock::Counts::undecided) return;
    if (running.counts == RunningBlock::Counts::no)
        discard(running, on);
    else if (changed_on_device(running, on))
        return;
    else if (running.data.has_results_apart())
        copy_home(running, on);
    else
        block_done(running, on);
}

/// Whether a device still computes it again in place. What it stored at home now could be read there, changed once more
/// and, where the device needs room, written back.
bool Run::changed_on_device(const RunningBlock& running, Locked&) const {
    return flow_ && std::ranges::any_of(blocks_, [&](const auto& entry) {  // others have all blocks there at once
               const RunningBlock& piece = *entry.second;
               return piece.block.again_of == running.block.id && piece.data.in_place && piece.may_store();
           });
}

/// Who has nothing to do now is asked when all that has happened is told.
void Run::tell_finished(std::int64_t id, const BlockRecord& record, bool travels, Locked& on) {
    const auto note = [&] {
        if (travels) flow_->goes_home(id);
        flow_->note_finished(id, record.start_s, record.end_s, record.busy_s, now_s(), 0, record.data_there);
        return true;
    };
    freed_ = decided(note, on);
    go_on({}, on);
}

// --- The way home ---

void Run::bring_home(starpu_data_handle_t handle, Return::Of of, std::int64_t number, Locked& on) {
    on.returns.push_back(std::make_unique<Return>());
    Return& what = *on.returns.back();
    what.run = shared_from_this();
    what.handle = handle;
    what.of = of;
    what.number = number;
}

void Run::send_home(RunningBlock& running, Locked& on) {
    const int processor = running.block.processor;
    const bool at_home = processor >= 0 && setup_.worker_of(processor).node == STARPU_MAIN_RAM;
    for (const BlockHandle& h : running.data.handles) {
        const bool away = !at_home || h.earlier();  // a part without work leaves earlier results where they are
        if (h.written && away && (!h.keep || !running.failure.empty()) && starpu_memory_nodes_get_count() > 1) {
            bring_home(h.handle, Return::Of::block, running.block.id, on);
            ++running.returns_left;
        }
    }
}

void Run::handle_home(void* arg) {
    auto* what = static_cast<Return*>(arg);
    (void)what->handed_over.load(std::memory_order_acquire);
    what->home_us = starpu_timing_now();  // it may be heard much later
    starpu_data_release_on_node(what->handle, STARPU_MAIN_RAM);
    what->run->tell([what](Locked& on) {
        const std::unique_ptr<Return> its(what);
        its->run->returned(*its, on);
    });
}

/// Results that were written apart: others do not wait for that.
void Run::copy_home(RunningBlock& running, Locked& on) {
    on.copies.push_back(running.block.id);
    ++running.returns_left;
    ++copies_left_;
}

void Run::copy_home(std::int64_t block) {
    blocks_.at(block)->data.take_results_home();
    post([this, block](Locked& on) {
        --copies_left_;
        block_returned(block, true, now_s(), on);
    });
}

void Run::returned(const Return& what, Locked& on) {
    if (what.of == Return::Of::application) {
        --returns_left_;
    } else if (what.of == Return::Of::evacuation) {
        for (const std::int64_t id : state_.kept.arrived(what.number))
            if (RunningBlock* waits = find(id, on); waits && --waits->departures_left == 0) fill_later(*waits, on);
        changed_.notify_all();
    } else {
        block_returned(what.number, false, (what.home_us - begin_us_) * 1e-6, on);
    }
}

void Run::block_returned(std::int64_t block, bool copied, double at_s, Locked& on) {
    RunningBlock* const running = find(block, on);
    if (!running) return;
    if (on_) record_of(block, on).home_s = std::max(record_of(block, on).home_s, at_s);
    if (--running->returns_left > 0) return;
    if (!on_) return move_to_ended(*running, on);  // it was left behind
    if (!running->failure.empty()) {
        running->data.node = STARPU_MAIN_RAM;
        return discard(*running, on);
    }
    const BlockRecord& record = record_of(block, on);
    if (flow_ && running->data.own_memory && !copied &&
        flow_->returned(block, record.processor, record.units, record.end_s, record.home_s))
        freed_ = true;
    if (!copied && running->data.has_results_apart())
        copy_home(*running, on);
    else
        block_done(*running, on);
}

RunningBlock* Run::find(std::int64_t block, Locked&) {
    const auto it = blocks_.find(block);
    return it == blocks_.end() ? nullptr : it->second.get();
}

/// It counts, and all of it is where it belongs.
void Run::block_done(RunningBlock& running, Locked& on) {
    if (description_.open && !record_of(running.block.id, on).given_back) computed_.push_back(running.block.id);
    state_.kept.keep(std::move(running.data));
    blocks_.erase(running.block.id);
}

/// Of an open load: as at the end of a run, redundant computations that still use the application's memory are waited
/// for.
void Run::note_what_is_done(Locked& on) {
    for (auto id = computed_.begin(); id != computed_.end();) {
        const BlockRecord& record = record_of(*id, on);
        const auto needs_them = [&](const auto& entry) {
            const RunningBlock& its = *entry.second;
            return its.tasks_left > 0 && is_waited_for(its) && its.block.first < record.first + record.units &&
                   record.first < its.block.first + its.block.units;
        };
        if (flow_ && std::ranges::any_of(blocks_, needs_them)) {
            ++id;
            continue;
        }
        if (setup_.options.done) {
            on.done.push_back({static_cast<std::uint64_t>(record.first), static_cast<std::uint64_t>(record.units),
                               record.processor < 0 ? -1 : setup_.worker_of(record.processor).ids.front(),
                               record.start_s, record.end_s, record.busy_s});
            ++telling_;
        }
        received_ -= interval({record.first, record.units});
        id = computed_.erase(id);
    }
}

/// It does not count, and nothing of it is with StarPU. What was not computed is for others, or for nobody, and its
/// processor is free.
void Run::discard(RunningBlock& running, Locked& on) {
    record_of(running.block.id, on).given_back = true;
    if (flow_ && error_ == 0 && flow_->give_back(running.block.id)) freed_ = true;
    running.data.forget_results();
    if (running.kept_input && !running.timed) running.data.node = running.kept_on;  // nobody has asked for them
    const std::int64_t again_of = running.block.again_of;
    state_.kept.keep_earlier(std::move(running.data));
    blocks_.erase(running.block.id);
    settle_late(again_of, on);
}

/// Nothing of a piece of this block is computed any more: that may be what the block has waited for.
void Run::settle_late(std::int64_t again_of, Locked& on) {
    if (RunningBlock* late = find(again_of, on); late && late->tasks_left == 0 && late->timed && error_ == 0)
        settle(*late, on);
}

}  // namespace apportion
