// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a block's tasks are filled by the application, and what becomes of those that cannot be.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "models/io/text.hpp"
#include "policies/engine/core_groups.hpp"
#include "policies/starpu/application_handles.hpp"
#include "policies/starpu/block_argument.hpp"
#include "policies/starpu/error.hpp"
#include "policies/starpu/inside.hpp"
#include "policies/starpu/run.hpp"

namespace apportion {

namespace {
/// What the application set in a task and nobody would ever call, as the load has its own there; empty: nothing.
std::string lost_callback(const starpu_task& task) {
    const char* const set = task.callback_func                ? "callback_func"
                            : task.prologue_callback_pop_func ? "prologue_callback_pop_func"
                                                              : nullptr;
    if (!set) return {};
    return fmt::format(
        "the application's fill function set its task's {}, which is the load's own; set epilogue_callback_func or "
        "prologue_callback_func",
        set);
}
}  // namespace

bool Run::filling(const LoadSetup& setup) { return Inside<LoadSetup>::of(setup); }

/// The next block whose turn it is: without the lock, as the application may wait for others who want it. A device's
/// thread fills those of its device alone (not `any`), which would begin nothing meanwhile. False: others are left.
bool Run::fill_next(Locked& on, bool any) {
    const auto is_filled_here = [&](std::int64_t block) {
        const RunningBlock* const its = find(block, on);
        if (any || !its || its->block.processor < 0) return any;
        return std::ranges::count(setup_.worker_of(its->block.processor).ids, starpu_worker_get_id()) > 0;
    };
    const auto next = std::ranges::find_if(on.to_fill, is_filled_here);
    if (next == on.to_fill.end()) return on.to_fill.empty();
    RunningBlock* const running = find(*next, on);
    on.to_fill.erase(next);
    on.last_tasks = !state_.policy && on.to_fill.empty();
    if (!running) return true;  // it has been given up meanwhile
    std::vector<starpu_task*> tasks;
    std::optional<ApiError> refused;
    try {
        if (error_ == 0) fill(*running, tasks);
    } catch (const ApiError& error) {
        refused = error;
    } catch (const std::exception& error) {
        refused.emplace(EIO, error.what());
    }
    if (refused) {
        for (starpu_task* task : std::exchange(tasks, {})) {
            task->destroy = 0;
            starpu_task_destroy(task);
        }
        running->data.forget_tasks();
    }
    {
        const Lock lock(mutex_);
        running->to_be_filled = false;
        if (!refused && error_ == 0) {
            running->tasks_left = static_cast<unsigned>(tasks.size());
            running->yields = flow_ && !running->data.why_not_dropped(setup_.options.results_stay != 0);
            if (running->yields) flow_->may_be_taken_over(running->block.id);
            if (flow_) set_alarm(on);
        } else {
            const auto refuse = [&](Locked&) {
                if (running->again() && running->data.lacks_memory && flow_)
                    flow_->leave_alone(running->block.again_of);
                else if (refused)
                    fail(-refused->error_number(), refused->what(), on);
                discard(*running, on);
            };
            apply({refuse}, on);
        }
    }
    if (tasks.empty()) return true;
    on.tasks = std::move(tasks);
    on.filled = running->block.id;
    return true;
}

void Run::fill(RunningBlock& running, std::vector<starpu_task*>& tasks) {
    const std::vector<UnitRange> ranges = equal_parts(
        {running.block.first, running.block.units}, description_.granularity, static_cast<Units>(running.lanes.size()));
    tasks.reserve(ranges.size() * setup_.options.parts);
    for (std::size_t lane = 0; lane < ranges.size(); ++lane)
        for (unsigned part = 0; part < setup_.options.parts; ++part) {
            tasks.push_back(starpu_task_create());
            fill_task(running, *tasks.back(), {ranges[lane], lane, part});
        }
    if (const char* why = running.data.why_not_stored())
        throw ApiError(EINVAL, "{} cannot be computed: {}", running.range(), why);
#ifndef STARPU_SIMGRID  // where programs may have no memory for their data
    // In an open load memory may be used again for units that come later.
    const auto other = setup_.options.open ? std::nullopt : written_.add(running.block, running.data);
    if (other)
        throw ApiError(EINVAL,
                       "{} cannot be computed: they write memory that units {} to {} write as well, and blocks run at "
                       "once; what one block writes must be of no other (a stencil writes into a second array)",
                       running.range(), other->first, other->first + other->units - 1);
#endif
}

/// Throws ApiError if the application refuses it, or what it fills in cannot be computed.
void Run::fill_task(RunningBlock& running, starpu_task& task, const TaskOf& what) {
    const int processor = running.block.processor;
    FillBlock filled;
    filled.first = static_cast<std::uint64_t>(what.range.first);
    filled.units = static_cast<std::uint64_t>(what.range.units);
    filled.part = what.part;
    filled.worker = processor >= 0 ? setup_.worker_of(processor).ids[what.lane] : -1;
    filled.data_of_block = &running.data;
    const apportion_block given = filled;
    task.cl = setup_.options.codelet;
    task.name = setup_.name;
    int refused = 0;
    try {
        const Inside<LoadSetup> here(setup_);
        refused = setup_.options.fill(&task, &filled, setup_.options.arg);
    } catch (const std::exception& error) {
        throw ApiError(EIO, "the application's fill function threw at {}: {}", running.range(), error.what());
    } catch (...) {
        throw ApiError(EIO, "the application's fill function threw at {}", running.range());
    }
    if (refused > 0)
        throw ApiError(
            EINVAL, "the application's fill function returned {} for {}; it must return 0, or a negative errno value",
            refused, running.range());
    task.cl = setup_.options.codelet;
    if (refused == 0 && has_all_handles(task)) running.data.note_modes(task);
    const auto require = [&](const std::string& problem) {
        if (!problem.empty()) throw ApiError(EINVAL, "{} cannot be computed: {}", running.range(), problem);
    };
    if (running.data.problem) require(running.data.problem);
    if (refused != 0)
        throw ApiError(-refused, "the application's fill function refused {}: {}", running.range(),
                       std::strerror(-refused));
    if (filled.first != given.first || filled.units != given.units || filled.part != given.part ||
        filled.worker != given.worker)
        require("the application's fill function changed the fields of the block, which say what the task computes");
    require(lost_callback(task));
    task.callback_func = task_finished;
    task.callback_arg = &running;
    task.callback_arg_free = task.prologue_callback_pop_arg_free = 0;
    task.workerorder = 0;
    if (!has_all_handles(task))
        throw ApiError(EINVAL, "the application's fill function did not set all of the {} of the task of {}",
                       counted(STARPU_TASK_GET_NBUFFERS(&task), "handle"), running.range());
    require(wrong_handle(running, task));
    if (running.data.own_memory) check_memory(running, task);
    give_block_as_argument(task, filled);
    task.sequential_consistency = 0;
    task.synchronous = task.regenerate = 0;
    task.detach = task.destroy = 1;
    task.sched_ctx = setup_.sched_ctx;
    task.execute_on_a_specific_worker = 0;
    // A part without work (STARPU_NOWHERE) is refused by StarPU when it is bound: no worker can run it.
    if (filled.worker >= 0 && task.where != STARPU_NOWHERE) {
        task.execute_on_a_specific_worker = 1;
        task.workerid = static_cast<unsigned>(filled.worker);
        task.prologue_callback_pop_func = task_popped;
        task.prologue_callback_pop_arg = &running;
    }
}

/// What is wrong with a handle of the application that the task names; empty: nothing. Those that it writes are noted.
std::string Run::wrong_handle(const RunningBlock& running, const starpu_task& task) {
    const auto only_reads = [](unsigned mode) {  // whatever else, such as STARPU_LOCALITY, it says
        return (mode & (STARPU_RW | STARPU_SCRATCH | STARPU_REDUX)) == STARPU_R;
    };
    const auto is_noted = [this](starpu_data_handle_t handle) {
        return std::ranges::find(application_handles_, handle) != application_handles_.end();
    };
    const unsigned buffers = STARPU_TASK_GET_NBUFFERS(&task);
    for (unsigned k = 0; k < buffers; ++k) {
        const starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(&task, k);
        const unsigned mode = STARPU_TASK_GET_MODE(&task, k);
        for (const apportion_use& use : uses_)
            if (handle == use.handle && !(only_reads(use.mode) && only_reads(mode)))
                return "it names a handle of `uses`, which the load holds while it runs, so that its tasks would wait "
                       "forever; a handle may be in both only if both only read it";
        if (running.data.find(handle)) continue;
        // StarPU would take one that is written without a value for never written, and initialise it.
        Needs needs = (mode & STARPU_REDUX) != 0 ? Needs::value_to_reduce : Needs::value;
        if (task.where == STARPU_NOWHERE || (mode & STARPU_SCRATCH) != 0 || is_noted(handle)) needs = Needs::nothing;
        if (const char* why = why_not_in_task(handle, needs))
            return fmt::format("it names a handle of the application that {}", why);
    }
    for (const starpu_data_handle_t handle : running.data.foreign)
        if (!is_noted(handle)) application_handles_.push_back(handle);
    return {};
}

/// StarPU would wait forever for room for a task that needs more than all of its device's memory.
void Run::check_memory(const RunningBlock& running, const starpu_task& task) const {
    const starpu_ssize_t total = starpu_memory_get_total(running.data.node);
    const std::size_t bytes = bytes_of(task);
    if (total <= 0 || bytes <= static_cast<std::size_t>(total)) return;
    constexpr double kMebibyte = 1 << 20;
    throw ApiError(ENOMEM,
                   "{} need {:.4g} MiB in the memory of {}, which has {:.4g} MiB; set options.bytes_per_unit, by which "
                   "blocks are cut, or a smaller granularity",
                   running.range(), static_cast<double>(bytes) / kMebibyte, name_of(running.block.processor),
                   static_cast<double>(total) / kMebibyte);
}

void Run::task_refused(RunningBlock& running, int error, Locked& on) {
    const std::string why = fmt::format("StarPU refused its task: {}", std::strerror(-error));
    if (error == -ENODEV && flow_)  // the codelet's can_execute did, perhaps, and takes it elsewhere
        running.failure = why;
    else
        fail(error, fmt::format("{}: {}", running.range(), why), on);
    if (running.cancelled())
        cancelled_task_ended(running, 0, on);
    else if (--running.tasks_left > 0)
        return;
    else if (running.failure.empty())
        discard(running, on);
    else
        block_failed(running, on);
}

}  // namespace apportion
