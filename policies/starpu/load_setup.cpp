// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/load_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <set>
#include <utility>

#include "policies/config.hpp"
#include "policies/starpu/error.hpp"
#include "policies/starpu/load_options.hpp"
#include "policies/starpu/mutex.hpp"
#include "policies/starpu/plugin.hpp"

namespace apportion {

const char* lasting(const std::string& name) {
    static Mutex& mutex = *new Mutex;
    static std::set<std::string>& names = *new std::set<std::string>;
    const Lock lock(mutex);
    return names.insert(name).first->c_str();
}

namespace {

void do_nothing(void**, void*) {}

/// A codelet that StarPU can run in the place of `codelet`, on any worker and in any implementation.
starpu_codelet skipping(const starpu_codelet& codelet) {
    starpu_codelet skip = codelet;
    skip.model = nullptr;
    skip.energy_model = nullptr;
    std::fill(std::begin(skip.cpu_funcs), std::end(skip.cpu_funcs), do_nothing);
    std::fill(std::begin(skip.cuda_funcs), std::end(skip.cuda_funcs), do_nothing);
    std::fill(std::begin(skip.hip_funcs), std::end(skip.hip_funcs), do_nothing);
    std::fill(std::begin(skip.opencl_funcs), std::end(skip.opencl_funcs), do_nothing);
    return skip;
}

/// The fields of old programs, which StarPU moves when it gets the codelet's first task.
void move_deprecated_fields(starpu_codelet& codelet) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    const auto move = [](auto& function, auto& functions, auto moved) {
        if (function && function != moved && !functions[0]) functions[0] = std::exchange(function, moved);
    };
    move(codelet.cpu_func, codelet.cpu_funcs, STARPU_MULTIPLE_CPU_IMPLEMENTATIONS);
    move(codelet.cuda_func, codelet.cuda_funcs, STARPU_MULTIPLE_CUDA_IMPLEMENTATIONS);
    move(codelet.opencl_func, codelet.opencl_funcs, STARPU_MULTIPLE_OPENCL_IMPLEMENTATIONS);
#pragma GCC diagnostic pop
}

#ifndef STARPU_SIMGRID

struct Call {
    apportion_warm_up_func_t hook = nullptr;
    void* arg = nullptr;
    std::string* problem = nullptr;
};

void call(void**, void* arg) {
    const Call& it = *static_cast<const Call*>(arg);
    try {
        if (const int status = it.hook(it.arg); status != 0)
            *it.problem = fmt::format("its warm_up returned {} ({})", status, std::strerror(std::abs(status)));
    } catch (const std::exception& error) {
        *it.problem = fmt::format("its warm_up threw an exception: {}", error.what());
    } catch (...) {
        *it.problem = "its warm_up threw an exception that is none of the standard library's";
    }
}

starpu_codelet& codelet() {
    static starpu_codelet calling = [] {
        starpu_codelet c;
        starpu_codelet_init(&c);
        c.cpu_funcs[0] = call;
        c.cuda_funcs[0] = call;
        c.hip_funcs[0] = call;
        c.opencl_funcs[0] = call;
        // StarPU waits for what the hook left on the worker's stream; otherwise it would end the program for that.
        c.cuda_flags[0] = STARPU_CUDA_ASYNC;
        c.hip_flags[0] = STARPU_HIP_ASYNC;
        c.name = "warm_up";
        return c;
    }();
    return calling;
}

/// Runs the hook on all workers at once and waits for them. Returns why it failed, per worker; empty: it did not.
/// Throws ApiError on a StarPU worker, which would wait for itself.
std::vector<std::string> warm_up_workers(apportion_warm_up_func_t hook, void* arg, unsigned sched_ctx,
                                         const std::vector<Worker>& workers) {
    if (starpu_worker_get_id() >= 0)
        throw ApiError(EDEADLK,
                       "apportion_load_create: a load with a warm_up was created on a StarPU worker, which would wait "
                       "for itself; create it on another thread");
    std::vector<std::string> problems(workers.size());
    std::vector<Call> calls(workers.size());
    std::vector<starpu_task*> tasks;
    tasks.reserve(workers.size());  // nothing throws while tasks run
    for (std::size_t k = 0; k < workers.size(); ++k) {
        calls[k] = {hook, arg, &problems[k]};
        starpu_task* const task = starpu_task_create();
        task->cl = &codelet();
        task->cl_arg = &calls[k];
        task->sched_ctx = sched_ctx;
        task->execute_on_a_specific_worker = 1;
        task->workerid = static_cast<unsigned>(workers[k].ids.front());
        task->detach = 0;
        task->destroy = 0;
        if (starpu_task_submit(task) == 0) {
            tasks.push_back(task);
        } else {
            problems[k] = "StarPU gave it no task for its warm_up";
            starpu_task_destroy(task);
        }
    }
    for (starpu_task* task : tasks) {
        STARPU_CHECK_RETURN_VALUE(starpu_task_wait(task), "starpu_task_wait");
        starpu_task_destroy(task);
    }
    return problems;
}

/// Workers that cannot be set up get no blocks.
void warm_up(LoadSetup& setup) {
    const auto problems = warm_up_workers(setup.options.warm_up, setup.options.arg, setup.sched_ctx, setup.workers);
    std::vector<Worker> ready;
    for (std::size_t k = 0; k < problems.size(); ++k)
        if (problems[k].empty())
            ready.push_back(setup.workers[k]);
        else
            setup.left_out += fmt::format("{}{} was left out: {}", setup.left_out.empty() ? "" : "; ",
                                          setup.workers[k].processor.name, problems[k]);
    const char* const scheduler = scheduler_of(setup.sched_ctx);
    if (!setup.left_out.empty() && (ready.empty() || !find_policy(scheduler)))
        throw ApiError(ENODEV, "load '{}': {}; {}", setup.name, setup.left_out,
                       ready.empty() ? "no worker is left"
                                     : fmt::format("StarPU's scheduler {} cannot do without it; let StarPU not use it, "
                                                   "or choose a policy of Apportion",
                                                   scheduler));
    setup.workers = std::move(ready);
}

#endif

}  // namespace

LoadSetup set_up(const apportion_load_options* options) {
    LoadSetup setup;
    setup.options = checked_options(options);
    const apportion_load_options& o = setup.options;
    move_deprecated_fields(*o.codelet);
    setup.name = lasting(o.name ? o.name : (o.codelet->name ? o.codelet->name : "load"));
    setup.profile = o.profile ? o.profile : setup.name;
    setup.profile_command = o.profile_command ? o.profile_command : "";
    setup.uses.assign(o.uses, o.uses + o.uses_count);
    setup.skipped = skipping(*o.codelet);
    setup.sched_ctx = o.sched_ctx >= 0 ? static_cast<unsigned>(o.sched_ctx) : starpu_sched_ctx_get_context();
    if (setup.sched_ctx >= STARPU_NMAX_SCHED_CTXS) setup.sched_ctx = 0;  // the thread has none: the initial context
    check_scheduler_is_own(setup.sched_ctx);
    std::string refused;
    setup.workers = workers_for(*o.codelet, setup.sched_ctx, static_cast<Units>(o.granularity),
                                {o.bytes_per_unit, o.bytes_shared}, &refused);
#ifndef STARPU_SIMGRID  // simulated workers have nothing to set up
    if (o.warm_up) warm_up(setup);
#endif
    if (!refused.empty()) setup.left_out += (setup.left_out.empty() ? "" : "; ") + refused;
    group_cores(setup.workers, setup.sched_ctx);
    // StarPU's handles have at most 2^32 - 1 elements a dimension, and a unit has one at least.
    const auto most = static_cast<Units>(UINT32_MAX / o.granularity * o.granularity);
    const bool has_handles = o.codelet->nbuffers != 0;
    if (has_handles && o.open == 0 && most > 0 && static_cast<Units>(o.units) / most > kMostEqualBlocks)
        throw ApiError(EINVAL,
                       "load '{}': options.units = {} would be more than {} blocks, as a block has at most {} units; "
                       "make a unit larger",
                       setup.name, o.units, kMostEqualBlocks, most);
    if (has_handles && o.units > UINT32_MAX && most > 0)
        for (Worker& worker : setup.workers)
            worker.processor.memory_units = std::min(worker.processor.memory_units, most);
    setup.processor_of_worker.assign(STARPU_NMAXWORKERS, -1);
    for (std::size_t p = 0; p < setup.workers.size(); ++p)
        for (const int id : setup.workers[p].ids)
            setup.processor_of_worker[static_cast<std::size_t>(id)] = static_cast<int>(p);
    return setup;
}

LoadDescription description_of(const LoadSetup& setup) {
    const apportion_load_options& o = setup.options;
    LoadDescription load;
    load.units = static_cast<Units>(o.units);
    load.open = o.open != 0;
    load.granularity = static_cast<Units>(o.granularity);
    load.runs_expected = static_cast<int>(std::min(o.runs, unsigned{INT_MAX}));
    for (const Worker& worker : setup.workers) {
        load.processors.push_back(worker.processor);
        load.links.push_back(worker.link);
    }
    Units initial = static_cast<Units>(o.initial_block);
    if (const auto chosen = initial_block_option(); initial == 0 && chosen) initial = *chosen;
    load.initial_block_chosen = initial > 0;
    load.initial_block =
        initial > 0 ? round_to_granularity(static_cast<double>(initial), load.granularity)
                    : default_initial_block(load.units, load.granularity, static_cast<int>(setup.workers.size()));
    return load;
}

}  // namespace apportion
