// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/load_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <set>
#include <utility>

#include "policies/config.hpp"
#include "policies/starpu/error.hpp"
#include "policies/starpu/load_options.hpp"
#include "policies/starpu/mutex.hpp"
#include "policies/starpu/plugin.hpp"
#include "policies/starpu/warm_up.hpp"

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
    if (o.warm_up) warm_up(setup);
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
