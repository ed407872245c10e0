// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A load between its runs: options, submission, waiting, reports. The run itself is in load_engine.cpp.
#include "policies/starpu/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "policies/config.hpp"
#include "policies/starpu/error.hpp"
#include "policies/starpu/profile_store.hpp"
#include "policies/starpu/report_file.hpp"

using apportion::ApiError;

apportion_load::apportion_load(const apportion_load_options& options)
    : options_(options), stall_factor_(apportion::stall_factor_option()), watch_(stall_factor_) {
    check_options();
    name_ = options.name ? options.name : (options.codelet->name ? options.codelet->name : "load");
    profile_name_ = options.profile ? options.profile : name_;
    profile_command_ = options.profile_command ? options.profile_command : "";
    options_.profile = options_.profile_command = nullptr;
    uses_.assign(options.uses, options.uses + options.uses_count);
    options_.uses = nullptr;
    options_.parts = std::max(1u, options.parts);
    options_.granularity = std::max<std::uint64_t>(1, options.granularity);

    sched_ctx_ = options.sched_ctx >= 0 ? static_cast<unsigned>(options.sched_ctx) : starpu_sched_ctx_get_context();
    if (sched_ctx_ >= STARPU_NMAX_SCHED_CTXS) sched_ctx_ = 0;  // the thread has none: the initial context

    description_.units = static_cast<Units>(options_.units);
    description_.granularity = static_cast<Units>(options_.granularity);
    description_.copies_in_main_memory = options_.results_stay != 0;
    description_.runs_expected = static_cast<int>(std::min(options_.runs, unsigned{INT_MAX}));
    workers_ = apportion::workers_for(*options_.codelet, sched_ctx_, description_.granularity,
                                      {options_.bytes_per_unit, options_.bytes_shared});
    processor_of_worker_.assign(STARPU_NMAXWORKERS, -1);
    for (std::size_t p = 0; p < workers_.size(); ++p) {
        processor_of_worker_[workers_[p].id] = static_cast<int>(p);
        description_.processors.push_back(workers_[p].processor);
        description_.links.push_back(workers_[p].link);
    }
    Units initial = static_cast<Units>(options_.initial_block);
    if (auto chosen = apportion::initial_block_option(); initial == 0 && chosen) initial = *chosen;
    description_.initial_block =
        initial > 0 ? apportion::round_to_granularity(static_cast<double>(initial), description_.granularity)
                    : apportion::default_initial_block(description_.units, description_.granularity,
                                                       static_cast<int>(workers_.size()));

    if (starpu_profiling_status_get() != STARPU_PROFILING_ENABLE)
        starpu_profiling_status_set(STARPU_PROFILING_ENABLE);  // where the blocks' start and end times come from
    STARPU_PTHREAD_MUTEX_INIT(&mutex_, NULL);
    STARPU_PTHREAD_COND_INIT(&finished_, NULL);
}

apportion_load::~apportion_load() {
    wait();
    watchdog_.reset();
    wait_for_abandoned();
    release_kept();
    STARPU_PTHREAD_COND_DESTROY(&finished_);
    STARPU_PTHREAD_MUTEX_DESTROY(&mutex_);
}

void apportion_load::check_options() const {
    auto refuse = [](const std::string& sentence) { throw ApiError(EINVAL, "apportion_load_create: " + sentence); };
    if (options_.size != sizeof options_)
        refuse(
            fmt::format("options.size is {} but this library expects {}; initialise with APPORTION_LOAD_OPTIONS and "
                        "compile against this version's header",
                        options_.size, sizeof options_));
    if (!options_.codelet) refuse("options.codelet is NULL; give the codelet of one block");
    if (!options_.fill) refuse("options.fill is NULL; give the function that fills a block's task");
    if (options_.units > static_cast<std::uint64_t>(apportion::kNoLimit / 4))
        refuse(fmt::format("options.units = {} is too large (a negative number?)", options_.units));
    if (options_.granularity > options_.units && options_.units > 0)
        refuse(fmt::format("options.granularity = {} is larger than the load of {} units", options_.granularity,
                           options_.units));
    if (options_.uses_count > 0 && !options_.uses) refuse("options.uses is NULL but uses_count is not 0");
    for (unsigned k = 0; k < options_.uses_count; ++k) {
        const auto mode = options_.uses[k].mode;
        if (!options_.uses[k].handle || (mode != STARPU_R && mode != STARPU_W && mode != STARPU_RW))
            refuse(fmt::format("options.uses[{}] needs a handle and STARPU_R, STARPU_W or STARPU_RW", k));
    }
    if (!starpu_is_initialized()) refuse("StarPU is not running; call apportion_init first");
}

void apportion_load::choose_policy() {
    const starpu_sched_policy* scheduler = starpu_sched_get_sched_policy_in_ctx(sched_ctx_);
    record_.policy = scheduler && scheduler->policy_name ? scheduler->policy_name : "none";
    const apportion::PolicyEntry* entry = apportion::find_policy(record_.policy);
    if (entry != policy_entry_) policy_ = entry ? entry->make() : nullptr;
    policy_entry_ = entry;
    if (policy_ && policy_->plans_from_profile() && !profile_looked_up_) look_up_profile();
}

void apportion_load::look_up_profile() {
    profile_looked_up_ = true;
    description_.recorded = apportion::find_recorded_times(
        {profile_name_, profile_command_, description_.units, description_.granularity, description_.processors},
        apportion::this_machine());
}

void apportion_load::submit() {
    if (const std::string path = apportion::report_file_option(); !path.empty()) apportion::check_report_file(path);
    wait_for_late_results();
    unregister_retired();
    STARPU_PTHREAD_MUTEX_LOCK(&mutex_);
    const bool busy = running_;
    if (!busy) reset_run();
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_);
    if (busy)
        throw ApiError(
            EBUSY, fmt::format("load '{}' still runs; call apportion_load_wait before it is submitted again", name_));
    watch();
    for (const apportion_use& use : uses_)
        starpu_data_acquire_on_node_cb(use.handle, STARPU_MAIN_RAM, use.mode, use_acquired, this);
    use_acquired(this);
}

void apportion_load::reset_run() {
    running_ = true;
    const int run = record_.run + 1;
    record_ = {};
    choose_policy();
    record_.load = name_;
    record_.profile = profile_name_;
    record_.units = description_.units;
    record_.granularity = description_.granularity;
    record_.run = run;
    description_.run = run;
    for (const apportion::Worker& worker : workers_)
        record_.processors.push_back({worker.processor.name, worker.kind, worker.id, worker.processor.memory_units});
    report_json_.clear();
    reported_ = false;
    completing_ = false;
    error_ = 0;
    error_sentence_.clear();
    flow_.reset();
    begin_us_ = starpu_timing_now();
    uses_left_ = static_cast<unsigned>(uses_.size()) + 1;
}

int apportion_load::wait() {
    STARPU_PTHREAD_MUTEX_LOCK(&mutex_);
    while (running_) STARPU_PTHREAD_COND_WAIT(&finished_, &mutex_);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_);
    unregister_retired();
    if (!reported_) {
        reported_ = true;
        if (const std::string path = apportion::report_file_option(); !path.empty())
            apportion::append_report(path, report());
    }
    if (error_ != 0) apportion::set_error(error_sentence_);
    return error_;
}

void apportion_load::release_kept() {
    for (auto& [first, data] : kept_)
        for (const apportion::BlockHandle& h : data.handles) {
            if (h.written)
                starpu_data_unregister(h.handle);
            else
                starpu_data_unregister_no_coherency(h.handle);
        }
    kept_.clear();
}

void apportion_load::unregister_retired() {
    STARPU_PTHREAD_MUTEX_LOCK(&mutex_);
    const std::vector<starpu_data_handle_t> retired = std::exchange(retired_, {});
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_);
    for (starpu_data_handle_t handle : retired) starpu_data_unregister_no_coherency(handle);
}

const std::string& apportion_load::report() {
    if (report_json_.empty())
        report_json_ = apportion::report_json(record_, policy_ ? policy_->report() : apportion::PolicyReport{},
                                              apportion::trace_option());
    return report_json_;
}

namespace {

/// A load that was not created is an error of the caller, and no crash.
apportion_load& existing(apportion_load* load, const char* function) {
    if (!load) throw ApiError(EINVAL, fmt::format("{}: the load is NULL; was it created?", function));
    return *load;
}

}  // namespace

extern "C" {

apportion_load* apportion_load_create(const apportion_load_options* options) {
    apportion_load* load = nullptr;
    apportion::guarded([&] {
        if (!options) throw ApiError(EINVAL, "apportion_load_create: options is NULL");
        load = new apportion_load(*options);
    });
    return load;
}

int apportion_load_submit(apportion_load* load) {
    return apportion::guarded([&] { existing(load, "apportion_load_submit").submit(); });
}

int apportion_load_wait(apportion_load* load) {
    int status = 0;
    const int failed = apportion::guarded([&] { status = existing(load, "apportion_load_wait").wait(); });
    return failed ? failed : status;
}

int apportion_load_release(apportion_load* load) {
    return apportion::guarded([&] {
        existing(load, "apportion_load_release").wait();
        load->release_kept();
    });
}

void apportion_load_destroy(apportion_load* load) {
    if (load) apportion::guarded([&] { delete load; });
}

const char* apportion_load_report(apportion_load* load) {
    const char* json = "{}";
    apportion::guarded([&] { json = existing(load, "apportion_load_report").report().c_str(); });
    return json;
}

int apportion_block_failed(const char* why) {
    return apportion::guarded([&] { apportion_load::current_block_failed(why); });
}

double apportion_load_seconds(apportion_load* load) {
    double seconds = 0;
    apportion::guarded([&] { seconds = existing(load, "apportion_load_seconds").seconds(); });
    return seconds;
}

const char* apportion_load_policy(apportion_load* load) {
    const char* name = "none";
    apportion::guarded([&] { name = existing(load, "apportion_load_policy").policy_name(); });
    return name;
}

}  // extern "C"
