// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_workload.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <algorithm>
#include <cstdlib>
#include <ranges>

#include "codelets/common/codelet.hpp"
#include "codelets/common/handicap.hpp"
#include "policies/starpu/apportion.h"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

const WorkloadEntry& find(const std::string& app) {
    const auto workloads = bundled_workloads();
    const auto entry = std::ranges::find_if(workloads, [&](const WorkloadEntry& e) { return e.name == app; });
    if (entry == workloads.end())
        throw UserError(
            fmt::format("--app: '{}' is no bundled application; use one of {}, or --kernel LIB.so for your own", app,
                        workload_names()));
    return *entry;
}

struct StarpuSession {
    StarpuSession() {
        setenv("STARPU_SCHED", "eager", 1);
        if (apportion_init(nullptr) != 0) throw UserError(apportion_error());
    }
    ~StarpuSession() { apportion_shutdown(); }
    StarpuSession(const StarpuSession&) = delete;
    StarpuSession& operator=(const StarpuSession&) = delete;
};

std::string worker_name(unsigned worker) {
    constexpr std::size_t kLongest = 128;
    char name[kLongest] = "";
    starpu_worker_get_name(static_cast<int>(worker), name, sizeof name);
    return name;
}

std::vector<unsigned> chosen_workers(Workload& workload, const std::vector<unsigned>& wanted) {
    std::vector<unsigned> able;
    for (unsigned w = 0; w < starpu_worker_get_count(); ++w)
        if (can_run(w, workload.codelet())) able.push_back(w);
    for (const unsigned w : wanted)
        if (std::ranges::find(able, w) == able.end())
            throw UserError(fmt::format("--processors: {} is no StarPU worker that can run {}; those are {}", w,
                                        workload.shape().name, fmt::join(able, ", ")));
    if (able.empty()) throw UserError(fmt::format("no StarPU worker here can run {}", workload.shape().name));
    return wanted.empty() ? able : wanted;
}

class BundledWorkload final : public ProfileSubject {
  public:
    BundledWorkload(const WorkloadEntry& entry, const WorkloadOptions& options,
                    const std::vector<unsigned>& processors);
    std::vector<double> run(std::span<const Units> units) override;

  private:
    StarpuSession session_;
    std::unique_ptr<Workload> workload_;
    std::vector<unsigned> workers_;
};

BundledWorkload::BundledWorkload(const WorkloadEntry& entry, const WorkloadOptions& options,
                                 const std::vector<unsigned>& processors) {
    kernel_ = entry.name;
    try {
        apply_handicaps();
        workload_ = entry.make(options);
    } catch (const std::runtime_error& error) {
        throw UserError(error.what());
    }
    load_ = workload_->profile();
    workers_ = chosen_workers(*workload_, processors);
    for (const unsigned w : workers_) processors_.push_back(worker_name(w));
    most_units_ = static_cast<Units>(workload_->shape().units);
    granularity_ = static_cast<Units>(workload_->shape().granularity);
}

std::vector<double> BundledWorkload::run(std::span<const Units> units) {
    std::vector<std::uint64_t> of_workers(starpu_worker_get_count(), 0);
    for (std::size_t i = 0; i < workers_.size(); ++i) of_workers[workers_[i]] = static_cast<std::uint64_t>(units[i]);
    std::vector<double> all;
    try {
        all = run_on_workers(*workload_, of_workers);
    } catch (const std::runtime_error& error) {
        throw UserError(error.what());
    }
    std::vector<double> seconds;
    for (const unsigned w : workers_) seconds.push_back(all[w]);
    return seconds;
}

}  // namespace

std::unique_ptr<ProfileSubject> workload_subject(const std::string& app, const std::vector<std::int64_t>& size,
                                                 const std::vector<unsigned>& processors) {
    WorkloadOptions options;
    options.size.assign(size.begin(), size.end());
    return std::make_unique<BundledWorkload>(find(app), options, processors);
}

std::string workload_names() {
    std::string names;
    for (const WorkloadEntry& entry : bundled_workloads())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
    return names;
}

}  // namespace apportion
