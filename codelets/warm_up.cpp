// SPDX-License-Identifier: LGPL-2.1-or-later
#include <starpu.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "codelets/codelet.hpp"
#include "codelets/measured_times.hpp"

namespace apportion {

namespace {

/// What warm_up() measured last, per worker; written before the load's tasks are submitted.
std::vector<MeasuredTimes> measured;

#ifndef STARPU_SIMGRID
/// `units` for every worker that can run the codelet, or fewer where the workload has fewer; 0 for the others.
std::vector<std::uint64_t> first_units(Workload& workload, std::uint64_t units) {
    std::vector<std::uint64_t> result(starpu_worker_get_count());
    std::uint64_t able = 0;
    for (std::size_t w = 0; w < result.size(); ++w) able += result[w] = can_run(w, workload.codelet());
    if (able > 0) units = std::min(units, workload.shape().units / able);
    for (std::uint64_t& u : result) u *= units;
    return result;
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
    constexpr double kNominal_s = 1e-9;
    const double seconds = worker < measured.size() ? measured[worker].seconds(task->flops) : std::nan("");
    return (std::isnan(seconds) ? kNominal_s * task->flops : seconds) * 1e6;
}

#ifdef STARPU_SIMGRID
void warm_up(Workload&) {}
#else
void warm_up(Workload& workload) {
    constexpr std::uint64_t kFirstUnits = 16;
    constexpr std::uint64_t kGrowth = 4;
    constexpr int kRepetitions = 5;  // the fastest counts: the first one sets things up
    constexpr double kLongest_s = 0.3;

    std::vector<std::uint64_t> units = first_units(workload, kFirstUnits);
    measured.assign(units.size(), {});
    while (std::any_of(units.begin(), units.end(), [](std::uint64_t u) { return u > 0; })) {
        std::vector<double> fastest = run_on_workers(workload, units);
        for (int repetition = 1; repetition < kRepetitions; ++repetition)
            std::ranges::transform(fastest, run_on_workers(workload, units), fastest.begin(),
                                   [](double a, double b) { return std::min(a, b); });
        for (std::size_t w = 0; w < units.size(); ++w) {
            if (units[w] == 0) continue;
            measured[w].add(workload.shape().task_operations(units[w]), fastest[w] / workload.shape().parts);
            units[w] = fastest[w] * kGrowth < kLongest_s ? units[w] * kGrowth : 0;
        }
        if (std::accumulate(units.begin(), units.end(), std::uint64_t{0}) > workload.shape().units) break;
    }
    drop_device_copies(workload);
}
#endif

}  // namespace apportion
