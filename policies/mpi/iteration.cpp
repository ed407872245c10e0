// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An iteration over nodes: how it is made, and its runs; iteration_data.cpp has what travels.
#include "policies/mpi/iteration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "policies/config.hpp"
#include "policies/mpi/node_facts.hpp"
#include "policies/mpi/node_profile.hpp"
#include "policies/mpi/session.hpp"
#include "policies/shared/nothing_in_flight.hpp"
#include "policies/starpu/block_argument.hpp"
#include "policies/starpu/error.hpp"
#include "policies/starpu/report.hpp"
#include "policies/starpu/watch.hpp"

using namespace apportion;

apportion_mpi_iteration::apportion_mpi_iteration(const apportion_load_options* given,
                                                 const apportion_mpi_distributed* arrays, unsigned count)
    : world_(World::get()), post_(running_post()) {
    std::string problem;
    const apportion_load_options options = options_for_nodes("apportion_mpi_iteration_create", given, problem);
    if (problem.empty()) problem = why_not_distributed(arrays, count, options.units);
    const Arrays all = problem.empty() ? Arrays(arrays, arrays + count) : Arrays{};
    facts_ = apportion::facts_of(arrays, count, problem.empty() ? options.units : 0);
    given_ = all;
    const NodeFacts facts = gather_facts(world_, options, facts_, problem);
    policy_ = facts.policy;
    called_ = facts.called;
    description_ = facts.load;
    take_options(options);

    const bool planned = policy_->reads_profile();
    if (planned) description_.recorded = recorded_times_of_nodes(world_, options_);
    std::vector<Units> shares;
    const bool home = world_.rank() == 0;
    std::int64_t to_file = home && !report_file_option().empty() ? 1 : 0;
    try {
        if (to_file != 0) check_report_file(report_file_option());
        if (planned && home) shares = planned_shares();
    } catch (const std::exception& error) {
        problem = error.what();
    }
    if (const std::string sentence = agreed_sentence(world_, problem); !sentence.empty())
        throw ApiError(ENODEV, sentence);
    world_.share(&to_file, sizeof to_file);
    to_file_ = to_file != 0;
    share_first_shares(std::move(shares));

    const double begin_us = starpu_timing_now();
    distribute(all, next_, true);
    owned_ = computed_ = next_;
    if (shares_) {
        // Rank 0 gave away what it has not kept: what that took is what a unit costs that moves.
        std::vector<Units> at_home(description_.processors.size(), 0);
        at_home[0] = description_.units;
        const Units moved = most_moved(OwnedRanges(at_home), owned_);
        const double seconds = (starpu_timing_now() - begin_us) * 1e-6;
        if (moved > 0) shares_->set_seconds_per_moved_unit(seconds / static_cast<double>(moved));
    }
    make_own_load();
    if (const std::string sentence = agreed_sentence(world_, std::exchange(problem_, {})); !sentence.empty()) {
        end_own_load();
        throw ApiError(ENODEV, sentence);
    }
    bytes_before_ = post_.bytes_moved();
    bytes_here_ = 0;
}

/// Loads are made again when shares change: what the options point to must last.
void apportion_mpi_iteration::take_options(const apportion_load_options& options) {
    options_ = options;
    name_ = load_name(options);
    a_task_ = a_task_of(world_, name_);
    options_.name = name_.c_str();
    if (options.profile) options_.profile = (profile_ = options.profile).c_str();
    if (options.profile_command) options_.profile_command = (profile_command_ = options.profile_command).c_str();
    if (options.uses) uses_.assign(options.uses, options.uses + options.uses_count);
    options_.uses = options.uses ? uses_.data() : nullptr;
    options_.unreported = 1;
    description_.runs_expected = static_cast<int>(std::min(options.runs, unsigned{INT_MAX}));
}

/// Of a policy that plans them beforehand. Empty: it hands units out as they are asked for.
std::vector<Units> apportion_mpi_iteration::planned_shares() {
    const auto policy = policy_->make();
    const int nodes = static_cast<int>(description_.processors.size());
    policy->begin(description_);
    std::vector<Units> shares(static_cast<std::size_t>(nodes), 0);
    const std::vector<OwnedUnits> owned = policy->owned();
    for (const OwnedUnits& its : owned) shares[static_cast<std::size_t>(its.processor)] += its.units;
    NothingInFlight progress(description_.units);
    for (int node = 0; node < nodes && owned.empty(); ++node) {
        const Units units = progress.remaining() == 0 ? 0 : policy->next_block(node, 0, progress);
        Units& share = shares[static_cast<std::size_t>(node)];
        share = std::min(units, progress.remaining());
        progress.take(share);
    }
    if (std::accumulate(shares.begin(), shares.end(), Units{0}) != description_.units) return {};
    planned_ = policy->report();
    return shares;
}

void apportion_mpi_iteration::share_first_shares(std::vector<Units> planned) {
    if (world_.rank() == 0) {
        shares_.emplace(description_, std::move(planned), std::string_view(policy_->name) == "equal");
        next_ = shares_->ranges();
        if (const double factor = stall_factor_option(); factor > 0)
            recovery_.emplace(factor, description_.processors.size());
    }
    take_shares();
}

/// Those of rank 0 are the next ones.
void apportion_mpi_iteration::take_shares() {
    std::vector<Units> shares =
        world_.rank() == 0 ? next_.shares() : std::vector<Units>(description_.processors.size());
    world_.share(shares.data(), shares.size() * sizeof shares[0]);
    next_ = OwnedRanges(shares);
}

int apportion_mpi_iteration::fill(starpu_task* task, apportion_block* block, void* arg) {
    const auto& self = *static_cast<apportion_mpi_iteration*>(arg);
    const std::uint64_t first = block->first;
    block->first += static_cast<std::uint64_t>(self.range().first);
    const int status = self.options_.fill(task, block, self.options_.arg);
    if (status == 0) give_block_as_argument(*task, *block);
    block->first = first;
    return status;
}

int apportion_mpi_iteration::warm_up(void* arg) {
    const apportion_load_options& options = static_cast<apportion_mpi_iteration*>(arg)->options_;
    return options.warm_up(options.arg);
}

void apportion_mpi_iteration::make_own_load() {
    if (range().units == 0) return;
    apportion_load_options own = options_;
    own.units = static_cast<std::uint64_t>(range().units);
    own.granularity = std::min(own.granularity, own.units);
    own.fill = fill;
    own.arg = this;
    own.warm_up = options_.warm_up && runs_ == 0 ? warm_up : nullptr;
    own.runs = options_.runs > static_cast<unsigned>(runs_) ? options_.runs - static_cast<unsigned>(runs_) : 0;
    try {
        load_.emplace(own);
    } catch (const std::exception& error) {
        problem_ = error.what();
    }
}

void apportion_mpi_iteration::run_own_load() {
    own_seconds_ = 0;
    own_report_ = "{}";
    if (!load_ && problem_.empty()) make_own_load();  // it could not be made before
    if (!problem_.empty() || !load_) return;
    try {
        load_->run();
        own_seconds_ = load_->seconds();
        inner_policy_ = load_->policy();
        own_report_ = load_->report();
#ifndef STARPU_SIMGRID
        if (options_.results_stay) {  // a late task stores no results into what is exchanged
            const auto deadline = deadline_of(a_task_, own_seconds_);
            load_->release();
        }
#endif
    } catch (const std::exception& error) {
        problem_ = error.what();
        if (range().first > 0) problem_ += fmt::format(" (this node's unit 0 is unit {} of all)", range().first);
    }
}

void apportion_mpi_iteration::end_own_load() {
    const auto deadline = deadline_of(a_task_, own_seconds_);
    load_.reset();
}

std::string apportion_mpi_iteration::run() {
    ++runs_;
    computed_ = owned_;
    exchanged_.clear();
    begin_us_ = starpu_timing_now();
    stood_still_us_ = stood_still_us();
    const bool home = world_.rank() == 0;
    for (int node = 1; home && node < world_.size(); ++node) post_.listen(node);
    run_own_load();
    std::string sentence;
    bool moved = false;
    if (home) {
        sentence = hear_all();
        seconds_ = (starpu_timing_now() - begin_us_) * 1e-6;
        note_run(sentence);
        // Shares that are decided on and not yet exchanged are not those that these times tell of.
        if (sentence.empty() && next_ == owned_) moved = shares_->run_ended(node_seconds_);
        next_ = shares_->ranges();
        tell_all(sentence, moved);
    } else {
        moved = tell_home();
        sentence = std::exchange(problem_, {});
        seconds_ = (starpu_timing_now() - begin_us_) * 1e-6;
        report_ = own_report_;
    }
    bytes_before_ = post_.bytes_moved();
    bytes_here_ = 0;
    if (moved) take_shares();
    if (to_file_ && sentence.empty()) gather_reports();
    if (to_file_ && sentence.empty() && home) report_to_file(report_file_option(), report_);
    return sentence;
}

void apportion_mpi_iteration::gather_reports() {
    node_reports_ = world_.gather(own_report_);
    if (world_.rank() == 0 && runs_ > 0) report_ = with_nodes(nlohmann::ordered_json::parse(report_), node_reports_);
}

// --- Rank 0 ---

std::string apportion_mpi_iteration::hear_all() {
    const auto name = [&](int node) { return description_.processors[static_cast<std::size_t>(node)].name; };
    std::string sentence;
    const auto note = [&](int node, const std::string& problem) {
        if (!problem.empty() && sentence.empty())
            sentence = fmt::format("load '{}': {}: {}", name_, name(node), problem);
    };
    note(0, std::exchange(problem_, {}));
    node_seconds_.assign(description_.processors.size(), 0);
    node_seconds_[0] = own_seconds_;
    bytes_ = static_cast<std::int64_t>(post_.bytes_moved() - bytes_before_);
    least_bytes_ = bytes_here_;
    std::set<int> awaited;
    for (int node = 1; node < world_.size(); ++node) awaited.insert(node);
    while (!awaited.empty()) {
        const auto event = post_.wait(late_at_us());
        if (!event && starpu_timing_now() < late_at_us()) continue;  // it stood still
        if (!event)
            abort_job(
                fmt::format("{} has not computed its units after {:.3g} s, for which it needed {:.3g} s before: it "
                            "hangs, and the job ends; a larger APPORTION_STALL_FACTOR waits longer",
                            name(*awaited.begin()), (starpu_timing_now() - begin_us_) * 1e-6, shares_->predicted_s()));
        if (event->kind != Event::Kind::message || awaited.erase(event->node) == 0) continue;
        note(event->node, event->message.text);
        node_seconds_[static_cast<std::size_t>(event->node)] = event->message.seconds;
        bytes_ += event->message.first;
        least_bytes_ += event->message.units;
    }
    bytes_ /= 2;  // each message was counted where it was sent and where it came
    return Message::fitted(sentence);
}

/// As blocks of devices do, as if the program had not stood still, a node stalls when it takes so many times what it
/// should; never the first time.
double apportion_mpi_iteration::late_at_us() const {
    if (!recovery_ || shares_->predicted_s() <= 0) return std::numeric_limits<double>::infinity();
    const double stalled_s = std::max(recovery_->silence_s(), stall_factor_option() * shares_->predicted_s());
    return begin_us_ + (stood_still_us() - stood_still_us_) + stalled_s * 1e6;
}

void apportion_mpi_iteration::tell_all(const std::string& sentence, bool moved) {
    Message message{.kind = Message::Kind::end, .units = moved ? 1 : 0};
    message.set_text(sentence);
    for (int node = 1; node < world_.size(); ++node) post_.send(node, message);
    post_.settle();
}

void apportion_mpi_iteration::note_run(const std::string& sentence) {
    RunRecord record = record_of_nodes(name_, policy_->name, description_, runs_, seconds_, sentence);
    for (int node = 0; node < world_.size(); ++node) {
        const double seconds = node_seconds_[static_cast<std::size_t>(node)];
        const UnitRange range = owned_.of(node);
        if (range.units > 0)
            record.blocks.push_back({node, range.first, range.units, 0, 0, seconds, seconds, seconds, false});
    }
    PolicyReport policy = planned_;
    policy.rebalances = shares_->moves();
    const std::vector<Units> shares = owned_.shares();
    policy.distributions = {{0, shares_->moves() > 0 ? "shares that nodes' times made pay" : "first shares",
                             std::vector<double>(shares.begin(), shares.end()), shares_->predicted_s()}};
    auto report = nlohmann::ordered_json::parse(report_json(record, policy, trace_option()));
    report["inner_policy"] = inner_policy_;
    report["network"] = {{"bytes", bytes_}, {"least_bytes", least_bytes_}};
    report_ = with_nodes(std::move(report), node_reports_);
}

// --- Other ranks ---

bool apportion_mpi_iteration::tell_home() {
    Message message{.kind = Message::Kind::computed,
                    .first = static_cast<std::int64_t>(post_.bytes_moved() - bytes_before_),
                    .units = bytes_here_,
                    .seconds = own_seconds_};
    message.set_text(std::exchange(problem_, {}));
    post_.send(0, message);
    post_.listen(0);
    Event answer = post_.wait();
    while (answer.kind != Event::Kind::message) answer = post_.wait();
    post_.settle();
    problem_ = answer.message.text;
    return answer.message.units != 0;
}
