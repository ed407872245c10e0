// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A load while it runs; load.hpp tells the life of a block and which lock protects what.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "policies/config.hpp"
#include "policies/starpu/error.hpp"
#include "policies/starpu/load.hpp"

namespace {

// Blocks per worker under StarPU's own schedulers when nobody says: enough to balance by, few enough to be efficient.
constexpr apportion::Units kEqualBlocksPerWorker = 4;

}  // namespace

double apportion_load::now_s() const { return (starpu_timing_now() - begin_us_) * 1e-6; }

int apportion_load::processor_of(int worker) const {
    return worker >= 0 && worker < static_cast<int>(processor_of_worker_.size()) ? processor_of_worker_[worker] : -1;
}

template <class Change>
void apportion_load::locked(Change&& change) {
    Outbox outbox;
    STARPU_PTHREAD_MUTEX_LOCK(&mutex_);
    try {
        change(outbox);
    } catch (const std::exception& error) {
        fail(-EIO, fmt::format("load '{}': {}", name_, error.what()));
    }
    check_completed(outbox);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_);
    send(outbox);
}

void apportion_load::use_acquired(void* arg) {
    auto* load = static_cast<apportion_load*>(arg);
    load->locked([load](Outbox& outbox) {
        if (--load->uses_left_ == 0) load->begin(outbox);
    });
}

void apportion_load::begin(Outbox& outbox) {
    if (!policy_) {
        start_blocks(equal_blocks(), outbox);
        return;
    }
    watch_.begin(description_.processors);
    flow_ = std::make_unique<apportion::BlockFlow>(description_, *policy_, previous_blocks_);
    lose_busy_ones();
    if (error_ != 0) return;
    start_blocks(flow_->start(now_s()), outbox);
}

std::vector<apportion::Block> apportion_load::equal_blocks() const {
    const Units granules = (description_.units + description_.granularity - 1) / description_.granularity;
    Units count = apportion::blocks_option().value_or(kEqualBlocksPerWorker * static_cast<Units>(workers_.size()));
    for (const apportion::Worker& worker : workers_) {
        const Units fitting = worker.processor.memory_units;
        if (fitting == apportion::kNoLimit) continue;
        const Units fitting_granules = fitting / description_.granularity;
        count = std::max(count, (granules + fitting_granules - 1) / fitting_granules);
    }
    count = std::min(count, granules);
    std::vector<apportion::Block> blocks;
    for (Units k = 0; k < count; ++k) {
        const Units first = granules * k / count * description_.granularity;
        const Units end = std::min(granules * (k + 1) / count * description_.granularity, description_.units);
        blocks.push_back({k, -1, first, end - first});
    }
    return blocks;
}

void apportion_load::start_blocks(const std::vector<apportion::Block>& blocks, Outbox& outbox) {
    for (const apportion::Block& block : blocks) {
        auto owned = std::make_unique<RunningBlock>();
        RunningBlock& running = *owned;
        blocks_.emplace(&running, std::move(owned));
        running.load = this;
        running.run = record_.run;
        running.block = block;
        running.record = record_.blocks.size();
        assert(!flow_ || static_cast<std::size_t>(block.id) == running.record);
        running.data.first = block.first;
        running.data.units = block.units;
        running.parts_left = options_.parts;
        record_.blocks.push_back({block.processor, block.first, block.units, now_s()});
        take_kept(running, outbox);
        if (running.flushes_left == 0) fill(running, outbox);
    }
}

namespace {

// The first entry of a map of disjoint ranges (first unit -> something with `units`) that ends behind `first`.
template <class Ranges>
auto first_overlapping(Ranges& ranges, apportion::Units first) {
    auto it = ranges.lower_bound(first);
    if (it != ranges.begin() && std::prev(it)->first + std::prev(it)->second.units > first) --it;
    return it;
}

}  // namespace

// Data that stayed on a device: the very same block takes its handles again, any other one that overlaps waits until
// they are home.
void apportion_load::take_kept(RunningBlock& running, Outbox& outbox) {
    const Units first = running.block.first;
    const Units end = first + running.block.units;
    for (auto it = first_overlapping(kept_, first); it != kept_.end() && it->first < end; it = kept_.erase(it)) {
        if (it->first == first && it->second.units == running.block.units)
            running.kept_input = true, running.data = std::move(it->second), running.data.use_again();
        else
            evacuate(it->second, outbox);
    }
    for (auto it = first_overlapping(evacuations_, first); it != evacuations_.end() && it->first < end; ++it) {
        it->second.waiting.push_back(&running);
        ++running.flushes_left;
    }
}

void apportion_load::evacuate(const apportion::BlockData& data, Outbox& outbox) {
    Evacuation evacuation{data.units, 0, {}};
    for (const apportion::BlockHandle& h : data.handles) {
        retired_.push_back(h.handle);
        if (!h.written) continue;
        ++evacuation.flights_left;
        outbox.flights.push_back(new Flight{this, h.handle, nullptr, data.first});
    }
    if (evacuation.flights_left > 0) evacuations_.emplace(data.first, std::move(evacuation));
}

void apportion_load::evacuated(Units first, Outbox& outbox) {
    auto it = evacuations_.find(first);
    if (--it->second.flights_left > 0) return;
    const std::vector<RunningBlock*> waiting = std::move(it->second.waiting);
    evacuations_.erase(it);
    for (RunningBlock* running : waiting)
        if (--running->flushes_left == 0) fill(*running, outbox);
}

void apportion_load::fill(RunningBlock& running, Outbox& outbox) {
    if (running.abandoned) {
        lay_to_rest(running, outbox);
        return;
    }
    const apportion::Block& block = running.block;
    const int worker = block.processor >= 0 ? workers_[block.processor].id : -1;
    std::vector<starpu_task*> tasks;
    int refused = error_ != 0 ? -ECANCELED : 0;
    for (unsigned part = 0; part < options_.parts && refused == 0; ++part) {
        starpu_task* task = starpu_task_create();
        tasks.push_back(task);
        task->cl = options_.codelet;
        task->name = name_.c_str();
        apportion::FillBlock public_block;
        public_block.first = static_cast<std::uint64_t>(block.first);
        public_block.units = static_cast<std::uint64_t>(block.units);
        public_block.part = part;
        public_block.worker = worker;
        public_block.data_of_block = &running.data;
        refused = std::min(0, options_.fill(task, &public_block, options_.arg));
        task->cl = options_.codelet;
        task->callback_func = part_finished;
        task->callback_arg = &running;
        if (refused == 0 && !apportion::has_all_handles(*task)) {
            refused = -EINVAL;
            fail(refused,
                 fmt::format("load '{}': the application's fill function did not set all {} handles of the task "
                             "of units {} to {}",
                             name_, STARPU_TASK_GET_NBUFFERS(task), block.first, block.first + block.units - 1));
        }
        if (refused == 0) note_modes(running, *task);
        task->sequential_consistency = 0;
        task->sched_ctx = sched_ctx_;
        // A part without work (STARPU_NOWHERE) is refused by StarPU when it is bound: no worker can run it.
        if (worker >= 0 && task->where != STARPU_NOWHERE) {
            task->execute_on_a_specific_worker = 1;
            task->workerid = static_cast<unsigned>(worker);
            task->prologue_callback_pop_func = part_begins;
            task->prologue_callback_pop_arg = &running;
        }
    }
    if (refused == 0) {
        if (flow_ && !watch_.has_finished(block.processor)) forecast(running, tasks);
        running.submitted_us = starpu_timing_now();
        running.submitted_s = (running.submitted_us - begin_us_) * 1e-6;
        outbox.tasks.insert(outbox.tasks.end(), tasks.begin(), tasks.end());
        return;
    }
    fail(refused, fmt::format("load '{}': the application's fill function refused units {} to {}: {}", name_,
                              block.first, block.first + block.units - 1, std::strerror(-refused)));
    for (starpu_task* task : tasks) {
        task->destroy = 0;
        starpu_task_destroy(task);
    }
    block_done(running);
}

void apportion_load::note_modes(RunningBlock& running, const starpu_task& task) {
    const unsigned buffers = STARPU_TASK_GET_NBUFFERS(&task);
    for (unsigned k = 0; k < buffers; ++k) {
        const int mode = STARPU_TASK_GET_MODE(&task, k);
        if (apportion::changes_in_place(mode)) running.in_place = true;
        if ((mode & STARPU_W) != 0 && !running.data.contains(STARPU_TASK_GET_HANDLE(&task, k)))
            running.writes_uses = true;
    }
}

void apportion_load::fail(int error, const std::string& sentence) {
    if (error_ != 0) return;
    error_ = error;
    error_sentence_ = sentence;
    record_.error = sentence;
}

void apportion_load::part_finished(void* arg) {
    auto* running = static_cast<RunningBlock*>(arg);
    apportion_load* load = running->load;
    starpu_task* task = starpu_task_get_current();
    task->cl = load->options_.codelet;  // a skipped task had another
    load->locked([=](Outbox& outbox) { load->part_ended(*running, *task, outbox); });
}

void apportion_load::part_ended(RunningBlock& running, const starpu_task& task, Outbox& outbox) {
    if (running.abandoned) {
        if (--running.parts_left == 0) lay_to_rest(running, outbox);
        return;
    }
    record_part(running, task);
    if (running.in_place && std::ranges::find(running.failed, &task) == running.failed.end()) running.changed = true;
    if (--running.parts_left > 0) return;
    if (running.failed.empty())
        block_computed(running, outbox);
    else
        block_failed(running, outbox);
}

void apportion_load::record_part(RunningBlock& running, const starpu_task& task) {
    double end_s = now_s();
    double start_s = end_s;
    int worker = starpu_worker_get_id();
    // A part without work (STARPU_NOWHERE) takes no time; it counts where the block has no other.
    const bool nowhere = task.where == STARPU_NOWHERE;
    if (nowhere && (running.timed || running.parts_left > 1)) return;
    if (starpu_profiling_task_info* info = nowhere ? nullptr : task.profiling_info) {
        start_s = (starpu_timing_timespec_to_us(&info->start_time) - begin_us_) * 1e-6;
        end_s = (starpu_timing_timespec_to_us(&info->end_time) - begin_us_) * 1e-6;
        worker = info->workerid;
    }
    apportion::BlockRecord& record = record_.blocks[running.record];
    record.start_s = running.timed ? std::min(record.start_s, start_s) : start_s;
    record.end_s = running.timed ? std::max(record.end_s, end_s) : end_s;
    record.busy_s += end_s - start_s;
    running.timed = true;
    if (record.processor < 0) record.processor = processor_of(worker);
}

void apportion_load::block_computed(RunningBlock& running, Outbox& outbox) {
    apportion::BlockRecord& record = record_.blocks[running.record];
    record.home_s = record.end_s;
    send_home(running, outbox);
    if (flow_) watch_.finished(running.block.processor, record.units, running.submitted_s, record.end_s);
    if (flow_ && error_ == 0) {
        const auto id = running.block.id;
        // `record` is not used from here on: new blocks make the vector grow.
        const auto next = flow_->finished(id, record.start_s, record.end_s, record.busy_s, now_s());
        settle_superseded();
        start_blocks(next, outbox);
        look_if_somebody_idles(outbox);
    }
    if (running.returns_left == 0) block_done(running);
}

void apportion_load::send_home(RunningBlock& running, Outbox& outbox) {
    const int processor = running.block.processor;
    const bool at_home = processor >= 0 && workers_[processor].node == STARPU_MAIN_RAM;
    if (at_home || starpu_memory_nodes_get_count() == 1) return;
    for (const apportion::BlockHandle& h : running.data.handles)
        if (h.written && (!h.keep || !running.failed.empty())) {
            ++running.returns_left;
            outbox.flights.push_back(new Flight{this, h.handle, &running, 0});
        }
}

void apportion_load::flight_landed(void* arg) {
    const std::unique_ptr<Flight> flight(static_cast<Flight*>(arg));
    apportion_load* load = flight->load;
    starpu_data_release_on_node(flight->handle, STARPU_MAIN_RAM);
    load->locked([&](Outbox& outbox) {
        if (!flight->block)
            load->evacuated(flight->evacuation, outbox);
        else if (--flight->block->returns_left == 0)
            load->returned(*flight->block, outbox);
    });
}

void apportion_load::returned(RunningBlock& running, Outbox& outbox) {
    if (!running.failed.empty()) {
        give_back(running);
        hand_out_again(outbox);
        return;
    }
    apportion::BlockRecord& record = record_.blocks[running.record];
    record.home_s = now_s();
    if (policy_) policy_->block_returned(record.processor, record.units, record.home_s - record.end_s);
    block_done(running);
}

void apportion_load::block_done(RunningBlock& running) {
    apportion::BlockData kept{running.data.first, running.data.units, {}};
    for (const apportion::BlockHandle& h : running.data.handles) {
        if (h.keep && !running.superseded)
            kept.handles.push_back(h);
        else
            retired_.push_back(h.handle);
    }
    if (!kept.handles.empty()) kept_[kept.first] = std::move(kept);
    blocks_.erase(&running);
}

void apportion_load::check_completed(Outbox& outbox) {
    if (!running_ || completing_ || uses_left_ > 0 || !blocks_.empty() || !evacuations_.empty()) return;
    if (error_ == 0 && flow_ && !flow_->done()) return;
    completing_ = true;
    record_.makespan_s = now_s();
    record_unanswered();
    outbox.completed = true;
}

double apportion_load::look(double overslept_s) {
    double next_s = 0;
    locked([&](Outbox& outbox) { next_s = look_for_late_blocks(overslept_s, outbox); });
    return next_s;
}

void apportion_load::send(const Outbox& outbox) {
    for (starpu_task* task : outbox.tasks) {
        // The block may be gone once the task is submitted: take what the error path needs before.
        auto* running = static_cast<RunningBlock*>(task->callback_arg);
        const int refused = starpu_task_submit(task);
        if (refused == 0) continue;
        task->destroy = 0;
        starpu_task_destroy(task);
        locked([&](Outbox& next) {
            fail(refused,
                 fmt::format("load '{}': StarPU refused the task of units {} to {}: {}", name_, running->block.first,
                             running->block.first + running->block.units - 1, std::strerror(-refused)));
            if (--running->parts_left > 0) return;
            if (running->abandoned)
                lay_to_rest(*running, next);
            else
                block_done(*running);
        });
    }
    for (Flight* flight : outbox.flights)
        starpu_data_acquire_on_node_cb_sequential_consistency(flight->handle, STARPU_MAIN_RAM, STARPU_R, flight_landed,
                                                              flight, 0);
    if (outbox.completed) complete();
}

void apportion_load::complete() {
    for (const apportion_use& use : uses_) starpu_data_release_on_node(use.handle, STARPU_MAIN_RAM);
    STARPU_PTHREAD_MUTEX_LOCK(&mutex_);
    if (flow_) {
        record_.policy_stalls = flow_->stalls();
        previous_blocks_.clear();
        if (error_ == 0)
            for (const apportion::BlockRecord& b : record_.blocks)
                if (!b.given_back) previous_blocks_.push_back({0, b.processor, b.first, b.units});
        std::sort(previous_blocks_.begin(), previous_blocks_.end(),
                  [](const apportion::Block& a, const apportion::Block& b) { return a.first < b.first; });
    }
    running_ = false;
    STARPU_PTHREAD_COND_BROADCAST(&finished_);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_);
}
