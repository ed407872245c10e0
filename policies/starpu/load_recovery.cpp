// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a load does when a processor fails or does not answer; load.hpp tells the rules.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>

#include "policies/starpu/error.hpp"
#include "policies/starpu/load.hpp"

using apportion::ApiError;
using apportion::LostProcessor;

namespace {

constexpr double kLooksPerRun = 128;  ///< so that what is late is seen when at most so small a part of the run is over
#ifdef STARPU_SIMGRID
constexpr double kLongestNap_s = 0;  ///< a sleeping watchdog cannot be woken there
#else
constexpr double kLongestNap_s = 0.05;  ///< where nothing is to be late before, and more in a long run
#endif
constexpr double kSuspended_s = 0.5;  ///< a look that comes later than that by so much: the whole program stood still

void do_nothing(void**, void*) {}

/// A codelet that StarPU can run in the place of `codelet`, on any worker and in any implementation.
starpu_codelet skipped(const starpu_codelet& codelet) {
    starpu_codelet skip = codelet;
    skip.model = nullptr;
    skip.energy_model = nullptr;
    std::fill(std::begin(skip.cpu_funcs), std::end(skip.cpu_funcs), do_nothing);
    std::fill(std::begin(skip.cuda_funcs), std::end(skip.cuda_funcs), do_nothing);
    std::fill(std::begin(skip.opencl_funcs), std::end(skip.opencl_funcs), do_nothing);
    return skip;
}

}  // namespace

// --- Failed blocks ---

void apportion_load::current_block_failed(const char* why) {
    starpu_task* task = starpu_task_get_current();
    if (!task || task->callback_func != part_finished)
        throw ApiError(EPERM,
                       "apportion_block_failed: the calling thread runs no block of a load; call it in the codelet's "
                       "function or in the task's epilogue callback");
    auto* running = static_cast<RunningBlock*>(task->callback_arg);
    apportion_load* load = running->load;
    STARPU_PTHREAD_MUTEX_LOCK(&load->mutex_);
    running->failed.push_back(task);
    if (running->failure.empty()) running->failure = why && *why ? why : "the codelet gave no reason";
    STARPU_PTHREAD_MUTEX_UNLOCK(&load->mutex_);
}

void apportion_load::block_failed(RunningBlock& running, Outbox& outbox) {
    apportion::BlockRecord& record = record_.blocks[running.record];
    const std::string what = fmt::format("{} failed: {}", range_of(running.block), running.failure);
    record.given_back = true;
    if (!flow_)
        fail(-EIO, fmt::format("load '{}': {} ({}); only under Apportion's policies others take over, not under {}",
                               name_, what, record_.processors[std::max(0, record.processor)].name, record_.policy));
    else
        lose(running.block.processor, what);
    if (running.changed)
        fail(-EIO, fmt::format("load '{}': {}; other tasks of the block have changed their data in place, so that it "
                               "cannot be computed again",
                               name_, what));
    const bool others_need_them = running.in_place || running.data.reads_earlier_results;
    if (error_ == 0 && others_need_them && running.kept_input) send_home(running, outbox);
    if (running.returns_left > 0) return;
    give_back(running);
    hand_out_again(outbox);
}

void apportion_load::lose(int processor, const std::string& reason) {
    if (watch_.lost(processor)) return;
    watch_.lose(processor);
    flow_->fence(processor);
    record_.lost.push_back({processor, now_s(), reason});
}

/// Ends the block: its units are for others, its data are forgotten.
void apportion_load::give_back(RunningBlock& running) {
    record_.blocks[running.record].given_back = true;
    if (flow_ && error_ == 0) {
        flow_->give_back(running.block.id);
        for (LostProcessor& lost : record_.lost)
            if (lost.processor == running.block.processor) lost.units_given_back += running.block.units;
    }
    if (running.abandoned) return;
    for (const apportion::BlockHandle& h : running.data.handles) retired_.push_back(h.handle);
    blocks_.erase(&running);
}

void apportion_load::hand_out_again(Outbox& outbox) {
    if (error_ != 0 || !flow_) return;
    if (flow_->remaining() > 0 && watch_.all_lost()) {
        fail(-ENODEV, fmt::format("load '{}': no processor is left to compute the remaining {} units; {}", name_,
                                  flow_->remaining(), who_was_lost()));
        return;
    }
    start_blocks(flow_->ask_all(now_s()), outbox);
}

std::string apportion_load::range_of(const apportion::Block& block) const {
    return fmt::format("units {} to {}", block.first, block.first + block.units - 1);
}

std::string apportion_load::who_was_lost() const {
    std::string text;
    for (const LostProcessor& lost : record_.lost)
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", record_.processors[lost.processor].name, lost.reason);
    return text;
}

// --- Blocks that do not finish ---

void apportion_load::part_begins(void* arg) {
    auto* running = static_cast<RunningBlock*>(arg);
    Phase phase = Phase::not_begun;
    if (running->phase.compare_exchange_strong(phase, Phase::begun) || phase == Phase::begun) return;
#ifndef STARPU_SIMGRID
    starpu_task_get_current()->cl = &running->load->skipped_;
#endif
}

/// Gives the units of a block back although its tasks are with StarPU.
void apportion_load::abandon(RunningBlock& running) {
    Phase phase = Phase::not_begun;
    const bool begun = !running.phase.compare_exchange_strong(phase, Phase::cancelled);
    const apportion::Worker& worker = workers_[running.block.processor];
    const bool device_has_the_data =
        worker.processor.own_memory && running.kept_input && (running.in_place || running.data.reads_earlier_results);
    if (running.writes_uses || (running.in_place && begun) || device_has_the_data)
        fail(-ETIMEDOUT,
             fmt::format("load '{}': {} does not finish {}, and nobody else can compute them, because the codelet {}; "
                         "use STARPU_W and apportion_block_..., or a larger APPORTION_STALL_FACTOR",
                         name_, worker.processor.name, range_of(running.block),
                         running.in_place      ? "changes data in place"
                         : running.writes_uses ? "writes handles of the application"
                                               : "reads results that stayed on the device"));
    leave_alone(running);
    give_back(running);
}

/// Nobody waits for the block's tasks from here on.
void apportion_load::leave_alone(RunningBlock& running) {
    running.phase = Phase::cancelled;
    running.abandoned = true;
    abandoned_.insert(blocks_.extract(&running));
}

/// The last task of an abandoned block has ended, or none was submitted.
void apportion_load::lay_to_rest(RunningBlock& running, Outbox& outbox) {
    for (const apportion::BlockHandle& h : running.data.handles) retired_.push_back(h.handle);
    const bool answers_again = running.superseded && running.run == record_.run && running_ && !completing_;
    const auto id = running.block.id;
    abandoned_.erase(&running);
    STARPU_PTHREAD_COND_BROADCAST(&finished_);
    if (!answers_again) return;
    flow_->superseded_ended(id);
    hand_out_again(outbox);
}

void apportion_load::abandon_blocks_of(int processor, const std::string& reason) {
    lose(processor, reason);
    std::map<std::int64_t, RunningBlock*> unfinished;
    for (const auto& [running, owned] : blocks_)
        if (running->block.processor == processor && running->parts_left > 0)
            unfinished.emplace(running->block.id, running);
    for (const auto& [id, running] : unfinished) abandon(*running);
}

/// Devices on which a block of an earlier submission seems never to end get none in this one.
void apportion_load::lose_busy_ones() {
    for (const auto& [running, owned] : abandoned_) {
        const double waited_s = (starpu_timing_now() - running->submitted_us) * 1e-6;
        if (running->submitted_us > 0 && watch_.gone(running->block.processor, running->block.units, waited_s))
            lose(running->block.processor, range_of(running->block) + " of an earlier submission are not finished");
    }
    if (watch_.all_lost() && description_.units > 0)
        fail(-ENODEV, fmt::format("load '{}': no processor is left; {}", name_, who_was_lost()));
}

/// A codelet whose performance model knows its workers says how long first blocks should take.
void apportion_load::forecast(const RunningBlock& running, const std::vector<starpu_task*>& tasks) {
    const starpu_perfmodel* model = options_.codelet->model;
    if (!model || model->type != STARPU_PER_WORKER) return;  // others have to be calibrated first
    const apportion::Worker& worker = workers_[running.block.processor];
    double seconds = worker.link.latency_s + worker.link.seconds_per_unit * static_cast<double>(running.block.units);
    for (starpu_task* task : tasks)
        seconds += 1e-6 * starpu_task_worker_expected_length(task, static_cast<unsigned>(worker.id), sched_ctx_, 0);
    if (std::isfinite(seconds)) watch_.forecast(running.block.processor, running.block.units, seconds);
}

/// Returns the seconds until the next look; 0: none.
double apportion_load::look_for_late_blocks(double overslept_s, Outbox& outbox) {
    if (!running_ || completing_) return 0;
    const double now = now_s();
    const double soonest_s = std::max(kSoonestLook_s, now / kLooksPerRun);
    if (uses_left_ > 0 || !flow_) return soonest_s;
    if (overslept_s > kSuspended_s) watch_.resumed(now);
    judge_blocks(outbox);
    return std::max(soonest_s, std::min(kLongestNap_s, seconds_until_late(now)));
}

void apportion_load::watch() {
    if (!policy_ || stall_factor_ <= 0) return;
    if (!watchdog_) {
        skipped_ = skipped(*options_.codelet);
        watchdog_ = std::make_unique<apportion::Watchdog>([this](double overslept_s) { return look(overslept_s); });
    }
    watchdog_->wake(kSoonestLook_s);
}

void apportion_load::wait_for_abandoned() {
    STARPU_PTHREAD_MUTEX_LOCK(&mutex_);
    while (!abandoned_.empty()) STARPU_PTHREAD_COND_WAIT(&finished_, &mutex_);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_);
    unregister_retired();
}

const apportion_load::RunningBlock* apportion_load::abandoned_in_main_memory() const {
    for (const auto& [running, owned] : abandoned_)
        if (!workers_[running->block.processor].processor.own_memory) return running;
    return nullptr;
}

/// Before a submission: what is still computed into main memory must not mix with its results.
void apportion_load::wait_for_late_results() {
    constexpr double kShortest_s = 1e-3;
    constexpr double kPart = 0.02;  // of the time that has passed, so that a long wait costs few looks
    for (;;) {
        STARPU_PTHREAD_MUTEX_LOCK(&mutex_);
        const RunningBlock* late = abandoned_in_main_memory();
        double waited_s = 0;
        bool silent = false;
        std::string who;
        if (late) {
            waited_s = (starpu_timing_now() - late->submitted_us) * 1e-6;
            silent = watch_.silent(late->block.processor, late->block.units, waited_s);
            who = workers_[late->block.processor].processor.name + " has still not finished " + range_of(late->block);
        }
        STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_);
        if (!late) return;
        if (silent)
            throw ApiError(EBUSY, fmt::format("load '{}': {} of an earlier submission after {:.3g} s, and may write "
                                              "their results late; submit it again when that has ended",
                                              name_, who, waited_s));
        starpu_sleep(static_cast<float>(std::max(kShortest_s, kPart * waited_s)));
    }
}
