// SPDX-License-Identifier: LGPL-2.1-or-later
#include <fmt/format.h>
#include <starpu.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "codelets/common/codelet.hpp"
#include "codelets/common/measured_times.hpp"
#include "codelets/common/warm_up_sizes.hpp"

namespace apportion {

namespace {

/// What warm_up() measured last, per worker; written before the load's tasks are submitted.
std::vector<MeasuredTimes> measured;

/// While warm_up() runs. What it measures is predicted to take next to no time: dmda never takes back how long a task
/// was to keep its worker, and a prediction that is too long leaves the worker busy for it when the load begins.
std::atomic<bool> measuring = false;

#ifndef STARPU_SIMGRID
std::vector<WarmUpWorker> workers_for(Workload& workload) {
    std::vector<WarmUpWorker> workers(starpu_worker_get_count());
    for (unsigned w = 0; w < workers.size(); ++w)
        workers[w] = {can_run(w, workload.codelet()), starpu_worker_get_type(static_cast<int>(w)) != STARPU_CPU_WORKER};
    return workers;
}

/// Drops the copies of shared data that tasks left on devices: a load that follows has to fetch them itself.
void drop_device_copies(Workload& workload) {
    for (unsigned part = 0; part < workload.shape().parts; ++part)
        for (const TaskData& d : workload.data({0, 1, part, -1}))
            if (d.shared && starpu_data_acquire(d.shared, STARPU_RW) == 0) starpu_data_release(d.shared);
}
#endif

}  // namespace

double measured_cost(starpu_task* task, unsigned worker, unsigned) {
    // Something finite where nothing was measured: StarPU's modular schedulers abort on a per-worker model without.
    constexpr double kNominal_s = 1e-9, kNextToNothing_s = 1e-18;
    if (measuring) return kNextToNothing_s * task->flops * 1e6;
    const double seconds = worker < measured.size() ? measured[worker].seconds(task->flops) : std::nan("");
    return (std::isnan(seconds) ? kNominal_s * task->flops : seconds) * 1e6;
}

#ifdef STARPU_SIMGRID
void warm_up(Workload&, double) {}
#else
void warm_up(Workload& workload, double limit_s) {
    const WorkloadShape& shape = workload.shape();
    measured.clear();
    measuring = true;
    try {
        const auto blocks = measure_growing_blocks(
            workers_for(workload), {shape.units, shape.granularity, limit_s},
            [&](std::span<const std::uint64_t> units) { return run_on_workers(workload, units); });
        measured.assign(blocks.size(), {});
        for (std::size_t w = 0; w < blocks.size(); ++w)
            for (const auto& [units, seconds] : blocks[w])
                measured[w].add(shape.task_operations(units), seconds / shape.parts);
    } catch (const std::runtime_error& error) {
        // The load itself can do without the device.
        fmt::print(stderr, "warm-up: {}; the costs that dmda is told are not measured\n", error.what());
    }
    measuring = false;
    drop_device_copies(workload);
}
#endif

}  // namespace apportion
