// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iostream>
#include <list>
#include <utility>

#include "models/io/text.hpp"
#include "policies/config.hpp"
#include "policies/shared/learnt_profile.hpp"
#include "policies/starpu/application_handles.hpp"
#include "policies/starpu/error.hpp"
#include "policies/starpu/profile_store.hpp"
#include "policies/starpu/report.hpp"
#include "policies/starpu/starpu_environment.hpp"

using namespace apportion;

namespace {

/// Handles that nothing needs any more, unregistered where this ends: without a lock. A StarPU worker must not wait for
/// that.
struct UnregisterAtEnd {
    UnregisterAtEnd() = default;
    ~UnregisterAtEnd() {
        const bool waits = starpu_worker_get_id() < 0;
        const auto end = waits ? starpu_data_unregister_no_coherency : starpu_data_unregister_submit;
        for (const BlockHandle& its : handles) end(its.handle);
    }
    UnregisterAtEnd(const UnregisterAtEnd&) = delete;
    UnregisterAtEnd& operator=(const UnregisterAtEnd&) = delete;

    std::list<BlockHandle> handles;
};

}  // namespace

apportion_load::apportion_load(const apportion_load_options* options)
    : setup_(set_up(options)), description_(description_of(setup_)) {
    policy_name_ = lasting(scheduler_of(setup_.sched_ctx));
    if (const double factor = stall_factor_option(); factor > 0)
        recovery_ = std::make_unique<Recovery>(factor, description_.processors.size());
}

apportion_load::~apportion_load() {
    const bool waited = finished_;
    if (run_ && description_.open) run_->close();
    int error = 0;
    const int failed = guarded([&] { error = wait(); });  // the report could not be written, perhaps
    if (failed != 0 || (error != 0 && !waited))
        std::cerr << "apportion_load_destroy without apportion_load_wait: " << apportion_error() << '\n';
    wait_for_all_cancelled();
    wait_for_calls();
    UnregisterAtEnd().handles = take_retired();
    kept_.release();
    guarded([&] { learning_.load_ends(); });
}

void apportion_load::choose_policy() {
    policy_name_ = lasting(scheduler_of(setup_.sched_ctx));
    const PolicyEntry* entry = find_policy(policy_name_);
    if (entry != policy_entry_ || (entry && !policy_) || (run_ && run_->threw()))
        policy_ = entry ? entry->make() : nullptr;
    policy_entry_ = entry;
    if (policy_ && !learning_begun_) begin_learning();
    if (policy_ && entry->reads_profile() && !profile_looked_up_) look_up_profile();
}

/// StarPU's own schedulers neither use what is learnt nor add to it: their runs are what policies are compared with.
void apportion_load::begin_learning() {
    learning_begun_ = true;
    const apportion_load_options& o = setup_.options;
    learning_.begin(learnt_key(this_machine(), setup_.profile, o.codelet->name, description_.processors,
                               {o.bytes_per_unit, o.bytes_shared}));
    description_.learnt = learning_.known();
    description_.learnt_distribution = learning_.distribution();
    description_.learnt_costs = learning_.unit_costs();
}

void apportion_load::look_up_profile() {
    profile_looked_up_ = true;
    description_.recorded = find_recorded_times(
        {setup_.profile, setup_.profile_command, description_.units, description_.granularity, description_.processors},
        this_machine());
    if (description_.recorded.none) take_learnt(description_, learning_.file());
}

RunRecord apportion_load::new_record() const {
    RunRecord record;
    record.policy = policy_name_;
    record.load = setup_.name;
    record.profile = setup_.profile;
    record.learnt = learning_.record();
    record.units = description_.units;
    record.granularity = description_.granularity;
    record.run = runs_;
    record.note = setup_.left_out;
    for (const Worker& worker : setup_.workers)
        record.processors.push_back(
            {worker.processor.name, worker.kind, worker.ids.front(), worker.processor.memory_units, worker.ids.size()});
    return record;
}

Run::State apportion_load::state() {
    return {policy_.get(), policy_ ? recovery_.get() : nullptr, kept_, previous_blocks_, not_over_};
}

void apportion_load::make_run() {
    choose_policy();
    leave_tasks_unlimited();
    if (starpu_profiling_status_get() != STARPU_PROFILING_ENABLE)
        starpu_profiling_status_set(STARPU_PROFILING_ENABLE);  // where the blocks' start and end times come from
    description_.run = ++runs_;
    description_.staying = previous_blocks_.empty() ? 0 : kept_.part();
    if (recovery_ && runs_ == 1) {
        const bool recorded = !description_.recorded.processors.empty() && !description_.recorded.learnt;
        recovery_->recorded(recorded ? description_.recorded.processors
                                     : apportion::Profiles(description_.learnt));  // each one's own
    }
    std::erase_if(not_over_, [](const auto& run) { return !run->left_something() && !run->calls_starpu(); });
    // Not make_shared: an alarm of the watch would keep all of its memory.
    not_over_.push_back(std::shared_ptr<Run>(new Run(setup_, description_, state(), new_record())));
    run_ = not_over_.back();
    finished_ = false;
}

std::shared_ptr<Run> apportion_load::current_run() const {
    const Lock lock(mutex_);
    return run_;
}

/// Empty: none.
std::string apportion_load::report_file() const {
    return setup_.options.unreported != 0 ? std::string() : report_file_option();
}

void apportion_load::refuse(int error, const std::string& what, const char* function) const {
    throw ApiError(error, "{}load '{}'{}", function, setup_.name, what);
}

void apportion_load::submit() {
    refuse_while_filling("apportion_load_submit");
    if (const std::string path = report_file(); !path.empty()) check_report_file(path);
    for (std::size_t k = 0; k < setup_.uses.size(); ++k)
        if (const char* why = why_not_acquired(setup_.uses[k]))
            refuse(EINVAL, fmt::format(": the handle of options.uses[{}] {}", k, why));
    std::shared_ptr<Run> run;
    std::vector<std::shared_ptr<Run>> earlier_runs;
    {
        UnregisterAtEnd retired;
        const Lock lock(mutex_);
        write_report(lock);
        if (!finished_) refuse(EBUSY, " still runs; call apportion_load_wait before it is submitted again");
        if (releasing_) refuse(EBUSY, " is being released");
        if (!starpu_is_initialized())
            refuse(ENODEV, ": StarPU is not running any more; the load was made before it ended, so make another one");
        if (std::ranges::none_of(setup_.workers, [&](const Worker& worker) {
                return starpu_sched_ctx_contains_worker(worker.ids.front(), setup_.sched_ctx) != 0;
            }))
            refuse(ENODEV, ": none of its workers is in its scheduling context any more; was it deleted?");
        if (run_ && run_->left_data_behind())
            refuse(EBUSY,
                   ": results of an earlier submission are still on a device that hangs; submit it again when they "
                   "have come");
        for (const auto& earlier : not_over_)
            if (const std::string who = earlier->why_not_submittable(); !who.empty())
                refuse(EBUSY, fmt::format(": {}, and may write results late or hold earlier ones; submit it again when "
                                          "that has ended",
                                          who));
        earlier_runs = not_over_;
        if (starpu_worker_get_id() >= 0 &&
            std::ranges::any_of(earlier_runs, [](const auto& earlier) { return earlier->waits_for_cancelled(true); }))
            throw ApiError(EDEADLK,
                           "apportion_load_submit: called on a StarPU worker, and a worker still runs a block of an "
                           "earlier submission of load '{}'; call it in a thread of the program's own",
                           setup_.name);
        retired.handles = take_retired();
        make_run();
        run = run_;
    }
    for (const auto& earlier : earlier_runs) earlier->wait_for_cancelled(true);
    run->begin();
}

/// Of an open load, in whole granules.
UnitRange apportion_load::checked_range(const char* function, std::uint64_t first, std::uint64_t units) const {
    refuse_while_filling(function);
    const auto most = static_cast<std::uint64_t>(description_.units), granule = setup_.options.granularity;
    if (!description_.open)
        throw ApiError(EINVAL, "{}: load '{}' is not open, see options.open", function, setup_.name);
    if (first > most || units > most - first)
        throw ApiError(EINVAL, "{}: load '{}' has {}, and not {} from unit {} on", function, setup_.name,
                       counted(most, "unit"), units, first);
    const auto is_boundary = [&](std::uint64_t unit) { return unit % granule == 0 || unit == most; };
    if (!is_boundary(first) || !is_boundary(first + units))
        throw ApiError(EINVAL, "{}: {} from unit {} on {} no multiples of the granularity of load '{}', {}", function,
                       counted(units, "unit"), first, is_or_are(units), setup_.name, granule);
    return {static_cast<Units>(first), static_cast<Units>(units)};
}

void apportion_load::add(std::uint64_t first, std::uint64_t units) {
    constexpr const char* kAdd = "apportion_load_add: ";
    const UnitRange range = checked_range("apportion_load_add", first, units);
    const std::shared_ptr<Run> run = current_run();
    using Answer = Run::Answer;
    const Answer answer = run ? run->add(range) : Answer::closed;
    if (answer == Answer::closed) refuse(EPIPE, run ? " is closed" : " was not submitted", kAdd);
    if (answer == Answer::there)
        refuse(EINVAL, fmt::format(" still computes some of {} from unit {} on", counted(units, "unit"), first), kAdd);
}

std::uint64_t apportion_load::withdraw(std::uint64_t first, std::uint64_t units) {
    const UnitRange range = checked_range("apportion_load_withdraw", first, units);
    const std::shared_ptr<Run> run = current_run();
    return run ? static_cast<std::uint64_t>(run->withdraw(range)) : 0;
}

void apportion_load::close() {
    refuse_while_filling("apportion_load_close");
    const std::shared_ptr<Run> run = current_run();
    if (!description_.open || !run)
        refuse(EINVAL, run ? " is not open, see options.open" : " was not submitted", "apportion_load_close: ");
    run->close();
}

int apportion_load::wait() {
    refuse_while_filling("apportion_load_wait");
    const std::shared_ptr<Run> run = current_run();
    if (!run) return 0;
    run->wait();
    try {
        UnregisterAtEnd retired;
        const Lock lock(mutex_);
        if (run_ == run) {
            finish(lock);
            retired.handles = take_retired();
        }
        write_report(lock);
    } catch (const std::exception&) {
        if (run->error() == 0) throw;  // else that is what matters
    }
    if (run->error() != 0) set_error(run->sentence());
    return run->error();
}

/// The last run is complete: its report is made, while the policy still is as it left it.
void apportion_load::finish(const Lock&) {
    if (finished_) return;
    const PolicyReport by_policy = policy_ ? policy_->report() : PolicyReport{};
    report_ = report_json(run_->record(), by_policy, trace_option());
    written_ = false;
    finished_ = true;
    seconds_ = run_->record().makespan_s;
    if (policy_) learning_.add(run_->record(), description_.processors, by_policy.unit_costs);
}

/// Of the last run, if that is complete, to the file; once.
void apportion_load::write_report(const Lock& lock) {
    if (run_ && !run_->on()) finish(lock);
    const bool written = std::exchange(written_, true);
    if (const std::string path = report_file(); !path.empty() && !written) append_report(path, report_);
}

/// The program may end StarPU when the load is gone. Workers have come back then.
void apportion_load::wait_for_calls() const {
    for (const auto& run : not_over_)
        while (run->calls_starpu() && starpu_worker_get_id() < 0) starpu_sleep(1e-4F);
}

/// And for data on their way from devices that hung.
void apportion_load::wait_for_all_cancelled() {
    std::vector<std::shared_ptr<Run>> runs;
    {
        const Lock lock(mutex_);
        runs = not_over_;
    }
    for (const auto& run : runs) run->wait_for_cancelled(false);
    if (!runs.empty()) runs.back()->wait_for_data_left_behind();
}

std::list<BlockHandle> apportion_load::take_retired() {
    if (run_ && run_->left_data_behind()) return {};  // its run changes them still
    const Run::State left_to = state();
    for (const auto& run : not_over_) run->give_data_to(left_to);
    return kept_.take_retired();
}

void apportion_load::release_kept() {
    wait();
    wait_for_all_cancelled();
    KeptData kept;
    {
        UnregisterAtEnd retired;
        const Lock lock(mutex_);
        if ((run_ && (run_->on() || run_->left_data_behind())) || releasing_)
            refuse(EBUSY, releasing_ ? " is released already" : " runs again; release it when it has ended");
        retired.handles = take_retired();
        kept = std::exchange(kept_, {});
        releasing_ = true;
    }
    kept.release();  // without the lock: workers send the data home, and may wait for it in callbacks
    const Lock lock(mutex_);
    releasing_ = false;
}

bool apportion_load::has_data() const {
    const Lock lock(mutex_);
    return !finished_ || (run_ && run_->left_data_behind()) || kept_.any() ||
           std::ranges::any_of(not_over_, [](const auto& run) { return run->left_something(); });
}

const char* apportion_load::report() {
    refuse_while_filling("apportion_load_report");
    const Lock lock(mutex_);
    if (run_ && !run_->on()) finish(lock);
    return report_.c_str();
}

const char* apportion_load::policy_name() const {
    const Lock lock(mutex_);
    return policy_name_;
}

double apportion_load::seconds() const {
    refuse_while_filling("apportion_load_seconds");
    const Lock lock(mutex_);
    return finished_ || !run_ || run_->on() ? seconds_ : run_->record().makespan_s;
}
