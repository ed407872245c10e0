// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/mpdata_rectangles.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include "apps/rectangles.hpp"

namespace apportion {

namespace {

/// In the domain's columns: as planned, or enlarged by whole numbers, so that shares are those of the plan.
PartsOfWorkers rectangles_of(const MpdataField& field, const std::string& file) {
    const auto rows = static_cast<std::size_t>(field.grid().ny), planes = static_cast<std::size_t>(field.nx());
    const auto [side, of_workers] = read_rectangles(file, rows, planes);
    if (rows % side != 0 || planes % side != 0)
        throw UserError(fmt::format(
            "--rectangles {}: is of {} x {} blocks, which the domain's {} x {} columns cannot be divided into", file,
            side, side, planes, rows));
    return of_workers;
}

}  // namespace

Outcome run_rectangles(const std::shared_ptr<MpdataField>& field, const std::string& file, const AppOptions& options) {
    const PartsOfWorkers of_workers = rectangles_of(*field, file);
    const std::vector<std::uint64_t> units = units_of_rectangles(of_workers);
    const auto workload = make_mpdata(field, of_workers);
    for (unsigned w = 0; w < units.size(); ++w)
        if (units[w] > 0 && !can_run(w, workload->codelet()))
            throw UserError(
                fmt::format("--rectangles {}: {} is no CPU core, and only these compute rectangles; plan without it",
                            file, worker_name(w)));
    if (starpu_memory_nodes_get_numa_count() > 1)  // rectangles write rows of planes, in the field itself
        throw UserError("--rectangles computes in one memory: run without STARPU_USE_NUMA");
    Outcome outcome;
    outcome.policy = "rectangles";
    for (int step = 1; step <= options.repeat; ++step) {
        if (!kSimulated) workload->spoil_result();
        std::vector<double> busy_s;
        outcome.seconds.push_back(seconds_of([&] { busy_s = run_on_workers(*workload, units); }));
        if (outcome.seconds.back() <= median_seconds(outcome.seconds))
            outcome.report = report_of_rectangles(of_workers, busy_s, outcome.seconds.back());
        if (kSimulated) continue;
        if (options.verify && step == options.repeat) outcome.verification = workload->verify();
        field->advance();
    }
    return outcome;
}

}  // namespace apportion
