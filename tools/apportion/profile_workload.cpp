// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <starpu.h>

#include <algorithm>
#include <cstdlib>

#include "codelets/common/codelet.hpp"
#include "codelets/common/handicap.hpp"
#include "codelets/common/mpirun.hpp"
#include "policies/config.hpp"
#include "policies/engine/core_groups.hpp"
#include "policies/starpu/apportion.h"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

const WorkloadEntry& find(const std::string& app) {
    const auto workloads = bundled_workloads();
    const auto entry = std::ranges::find(workloads, app, &WorkloadEntry::name);
    if (entry == workloads.end())
        throw UserError("--app: '{}' is no bundled application; use one of {}", app, workload_names());
    return *entry;
}

struct StarpuSession {
    StarpuSession() {
        // As in programs over nodes, a core is left to StarPU-MPI's thread.
        if (mpirun_process().count > 1 && !std::getenv("STARPU_NCPU") && !std::getenv("STARPU_NCPUS"))
            setenv("STARPU_RESERVE_NCPU", "1", 0);
        setenv("STARPU_SCHED", "eager", 1);
        if (apportion_init(nullptr) != 0) throw UserError(apportion_error());
    }
    ~StarpuSession() { apportion_shutdown(); }
    StarpuSession(const StarpuSession&) = delete;
    StarpuSession& operator=(const StarpuSession&) = delete;
};

/// As a load groups them.
std::vector<std::vector<unsigned>> grouped(const std::vector<unsigned>& workers) {
    std::vector<int> nodes;
    for (const unsigned w : workers) {
        const bool core = starpu_worker_get_type(static_cast<int>(w)) == STARPU_CPU_WORKER;
        nodes.push_back(core ? static_cast<int>(starpu_worker_get_memory_node(w)) : -1);
    }
    std::vector<std::vector<unsigned>> groups;
    for (const std::vector<std::size_t>& members : core_groups(nodes, groups_option())) {
        groups.emplace_back();
        for (const std::size_t w : members) groups.back().push_back(workers[w]);
    }
    return groups;
}

/// The workers of each processor.
std::vector<std::vector<unsigned>> chosen_workers(Workload& workload, const std::vector<unsigned>& wanted) {
    std::vector<unsigned> able;
    for (unsigned w = 0; w < starpu_worker_get_count(); ++w)
        if (can_run(w, workload.codelet())) able.push_back(w);
    for (const unsigned w : wanted)
        if (std::ranges::find(able, w) == able.end())
            throw UserError("--processors: {} is no StarPU worker that can run {}; those are {}", w,
                            workload.shape().name, fmt::join(able, ", "));
    if (able.empty()) throw UserError("no StarPU worker here can run {}", workload.shape().name);
    std::vector<std::vector<unsigned>> chosen;
    const auto is_wanted = [&](unsigned w) { return std::ranges::find(wanted, w) != wanted.end(); };
    for (const std::vector<unsigned>& group : grouped(able)) {
        if (wanted.empty() || std::ranges::all_of(group, is_wanted))
            chosen.push_back(group);
        else if (std::ranges::any_of(group, is_wanted))
            throw UserError(
                "--processors: the workers {} are one processor, see APPORTION_GROUPS; name all of them or none",
                fmt::join(group, ", "));
    }
    return chosen;
}

class BundledWorkload final : public ProfileSubject {
  public:
    /// Throws UserError.
    BundledWorkload(const WorkloadEntry& entry, const WorkloadOptions& options, const std::vector<unsigned>& wanted) {
        apply_handicaps();
        kernel_ = entry.name;
        workload_ = entry.make(options);
        load_ = workload_->profile();
        workers_ = chosen_workers(*workload_, wanted);
        for (const std::vector<unsigned>& group : workers_) {
            std::vector<std::string> names;
            for (const unsigned w : group) names.push_back(worker_name(w));
            processors_.push_back(group_name(names));
        }
        granularity_ = static_cast<Units>(workload_->shape().granularity);
        most_units_ = static_cast<Units>(workload_->shape().units);
    }
    std::vector<double> run(std::span<const Units> units) override {
        std::vector<std::uint64_t> of_workers(starpu_worker_get_count(), 0);
        for (std::size_t p = 0; p < units.size(); ++p) {
            const auto parts = equal_parts({0, units[p]}, granularity_, std::ssize(workers_[p]));
            for (std::size_t k = 0; k < parts.size(); ++k)
                of_workers[workers_[p][k]] = static_cast<std::uint64_t>(parts[k].units);
        }
        const std::vector<double> seconds_of_workers = run_on_workers(*workload_, of_workers);
        std::vector<double> seconds;
        for (const std::vector<unsigned>& group : workers_) {
            seconds.push_back(0);
            for (const unsigned w : group) seconds.back() = std::max(seconds.back(), seconds_of_workers[w]);
        }
        return seconds;
    }
    std::optional<Transfers> transfers() override;

  private:
    StarpuSession session_;
    std::vector<std::vector<unsigned>> workers_;  ///< of each processor
    std::unique_ptr<Workload> workload_;
};

std::optional<Transfers> BundledWorkload::transfers() {
    Transfers found;
    const UnitBytes bytes = bytes_of_unit(*workload_, static_cast<std::uint64_t>(granularity_));
    found.bytes_in = static_cast<std::size_t>(bytes.in);
    found.bytes_out = static_cast<std::size_t>(bytes.out);
    for (const std::vector<unsigned>& group : workers_)
        found.memories.push_back(starpu_worker_get_memory_node(group.front()));
    found.journeys_s = journeys_s;
    return found;
}

}  // namespace

std::unique_ptr<ProfileSubject> workload_subject(const std::string& app, const std::vector<std::int64_t>& size,
                                                 const std::vector<unsigned>& processors) {
    WorkloadOptions options;
    options.size.assign(size.begin(), size.end());
    return std::make_unique<BundledWorkload>(find(app), options, processors);
}

std::string workload_names() {
    std::vector<std::string> names;
    for (const WorkloadEntry& entry : bundled_workloads()) names.emplace_back(entry.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace apportion
