// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/static_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "policies/planners/planner_table.hpp"
#include "policies/shared/block_costs.hpp"
#include "policies/shared/redistribution.hpp"

namespace apportion {

Plan plan_curves(const RecordedProblem& problem, const char* planner) {
    const Units step = problem.shares.granularity;
    PlanProblem in_steps = problem.shares;
    in_steps.units /= step;
    in_steps.granularity = 1;
    for (DiscreteTimes& times : in_steps.processors)
        for (Units& size : times.points) size /= step;
    Plan plan = run_planner(*find_planner(planner), in_steps);
    for (Units& share : plan.shares) share *= step;
    return plan;
}

namespace {
/// Planners count the steps of a problem as its units.
std::string in_steps_of(Units step) { return step > 1 ? fmt::format(" (counted in steps of {} units)", step) : ""; }

/// Of all processors, each with its share.
double longest_s(const std::vector<ShareTimes>& times, const std::vector<double>& shares) {
    double longest_s = 0;
    for (std::size_t p = 0; p < times.size(); ++p)
        longest_s = std::max(longest_s, run_of(times[p], static_cast<Units>(shares[p])).seconds);
    return longest_s;
}
}  // namespace

void StaticPolicy::begin(const LoadDescription& load) {
    if (load.units == 0 && !load.open) {  // nothing to plan, and nothing will ever be learnt
        load_ = load;
        lanes_.assign(load.processors.size(), {});
        report_ = {};
        return;
    }
    if (load.recorded.processors.size() != load.processors.size())
        throw PolicyError(load.recorded.problem.empty() ? "no recorded profile for every processor is known"
                                                        : load.recorded.problem);
    load_ = load;
    changed_ = nullptr;
    report_ = {};
    report_.profile = load_.recorded.source;
    report_.note = load_.recorded.note;
    if (planned_before(load)) {
        load_.links = before_->links;
        for (const Lane& lane : lanes_)
            moving_ratio_ = std::max(moving_ratio_, lane.last_end_s / before_->distribution.predicted_end_s);
        if (load.staying > 0 && !settled_) plan_where_data_are(load);
        return begin_with(*before_);
    }
    before_.reset();
    there_.clear();
    settled_ = false;
    moving_ratio_ = 1;
    load_.links = recorded_links(load);
    before_ = plan_whole(load, "profile");
}

void StaticPolicy::begin_with(const WholePlan& plan) {
    load_.links = plan.links;
    sizes_ = plan.sizes;
    times_ = plan.times;
    lanes_ = plan.lanes;
    report_.distributions.assign(1, plan.distribution);
}

/// With the links of `load_`, which may cost less than those of the load.
StaticPolicy::WholePlan StaticPolicy::plan_whole(const LoadDescription& load, const char* reason) {
    sizes_ = recorded_sizes(load_);
    set_times();
    lanes_.assign(load_.processors.size(), {});
    plan(load_.units, 0, nullptr, reason);
    return {load, load_.links, sizes_, times_, lanes_, report_.distributions.back()};
}

/// As plan_whole(), for runs whose data are there; in the shares, `once` of what it costs to bring them counts.
StaticPolicy::WholePlan StaticPolicy::plan_staying(const LoadDescription& load, double once) {
    const std::vector<LoadDescription::Link> travelling = load_.links;
    const auto travels = [&](double every_time, double brought) {
        load_.links = travelling;
        for (LoadDescription::Link& link : load_.links) {
            const double whole = link.seconds_per_unit();
            for (LoadDescription::Way* way : {&link.in, &link.out, &link.both}) way->seconds_per_unit *= every_time;
            for (LoadDescription::Way* way : {&link.in, &link.both}) way->seconds_per_unit += brought * whole;
        }
    };
    travels(1 - load.staying, once * load.staying);
    WholePlan there = plan_whole(load, "data that stay");
    travels(1 - load.staying, 0);
    set_times();
    there.links = std::exchange(load_.links, travelling);
    there.times = times_;
    there.distribution.predicted_end_s = longest_s(times_, there.distribution.shares_units);
    for (std::size_t p = 0; p < times_.size(); ++p) {
        const auto share = static_cast<Units>(there.distribution.shares_units[p]);
        there.lanes[p].blocks = share > 0 ? blocks_of(times_[p], share) : BlockRuns{};
        there.lanes[p].overlapped = run_of(times_[p], share).overlapped;
    }
    return there;
}

/// Takes a plan for data that are there already, if that is better than going on as before: the best one of all, or one
/// that gives slow links little, as bringing the data counts in its part for each run to come.
void StaticPolicy::plan_where_data_are(const LoadDescription& load) {
    const int runs = runs_to_come(load);
    // Fewer runs change little; of those that the application does not tell, there may be more.
    if (there_.empty() || there_[0].load.staying != load.staying || runs >= 2 * there_runs_) {
        there_ = {plan_staying(load, 0), plan_staying(load, std::min(1.0, moving_ratio_ / runs))};
        there_runs_ = runs;
    }
    const std::vector<double>& now = before_->distribution.shares_units;
    const auto move_s = [&](const WholePlan& plan) {
        return moving_ratio_ * moving_seconds(load, now, plan.distribution.shares_units);
    };
    WholePlan& best = *std::ranges::min_element(
        there_, {}, [&](const WholePlan& plan) { return runs * plan.distribution.predicted_end_s + move_s(plan); });
    const double as_before_s = longest_s(best.times, now);
    const double gain_s = as_before_s - best.distribution.predicted_end_s;
    if (gain_s <= kLeastGain * as_before_s || gain_s * runs <= move_s(best)) return;
    before_ = std::move(best);
    there_.clear();
    settled_ = true;
}

bool StaticPolicy::planned_before(const LoadDescription& load) const {
    if (!before_) return false;
    const LoadDescription& before = before_->load;
    return before.units == load.units && before.granularity == load.granularity &&
           before.processors == load.processors && before.links == load.links &&
           before.recorded.processors == load.recorded.processors;
}

void StaticPolicy::set_times() {
    times_.clear();
    for (std::size_t p = 0; p < load_.processors.size(); ++p) times_.emplace_back(load_, p, sizes_);
}

/// Where recorded sizes do not add up to the load, those between them; then, if it has begun, those across holes.
/// False: there is no more.
bool StaticPolicy::admit_more(bool begun, bool& across_holes) {
    if (std::ranges::find(sizes_.fine, true) != sizes_.fine.end()) {
        sizes_ = interpolated_sizes(load_);
        set_times();
        return true;
    }
    if (!begun || across_holes) return false;
    across_holes = true;
    for (ShareTimes& times : times_) times = times.without_holes();
    return true;
}

Plan StaticPolicy::shares_of(const RecordedProblem& problem) const {
    if (problem.shares.units == 0) {
        Plan nothing;
        nothing.shares.assign(lanes_.size(), 0);
        return nothing;
    }
    return plan_shares_(problem);
}

/// Plans `units` for the processors that are there, at least one; `progress` null: none is busy, and a plan that the
/// profile does not admit is an error. Later, the load has to go on.
void StaticPolicy::plan(Units units, double now_s, const Progress* progress, const char* reason) {
    std::vector<double> busy(lanes_.size(), 0);
    std::vector<bool> lost;
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
        lost.push_back(lanes_[p].lost || lanes_[p].late);
        if (progress && !lost.back()) busy[p] = busy_s(p, now_s, *progress);
    }
    RecordedProblem problem;
    Plan plan;
    bool across_holes = false;
    do {
        problem = recorded_problem(load_, times_, sizes_, units, busy, lost);
        plan = shares_of(problem);
    } while (!plan.failure.empty() && admit_more(progress != nullptr, across_holes));
    if (!plan.failure.empty()) {
        if (!progress)
            throw PolicyError(fmt::format("the profile {} does not admit this load: {}{}; record more sizes",
                                          load_.recorded.source, plan.failure,
                                          in_steps_of(problem.shares.granularity)));
        plan.shares.assign(lanes_.size(), 0);  // piece by piece, then
        ++report_.solver_fallbacks;
    }
    const std::vector<Units> shares = complete_shares(problem, plan.shares);
    PlannedDistribution distribution{now_s, reason, {shares.begin(), shares.end()}, now_s};
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
        lanes_[p].blocks = shares[p] > 0 ? blocks_of(times_[p], shares[p]) : BlockRuns{};
        lanes_[p].overlapped = run_of(times_[p], shares[p]).overlapped;
        distribution.predicted_end_s =
            std::max(distribution.predicted_end_s, now_s + share_seconds(problem, p, shares[p]));
    }
    report_.distributions.push_back(std::move(distribution));
    ++report_.solves;
    report_.solver_seconds += plan.solve_s;
}

Units StaticPolicy::planned() const {
    Units sum = 0;
    for (const Lane& lane : lanes_) sum += lane.blocks.total();
    return sum;
}

/// What was really handed out can be less than the answer, where free units are not contiguous, and more, after a
/// stall; a block may have been given back.
void StaticPolicy::account(std::size_t processor, const Progress& progress) {
    Lane& lane = lanes_[processor];
    Units handed_out = lane.finished;
    for (const BlockInFlight& block : progress.in_flight(static_cast<int>(processor)))
        handed_out += up_to_multiple(block.units, load_.granularity);
    const Units excess = handed_out - lane.handed_out;
    lane.handed_out = handed_out;
    if (excess < 0 && !lane.lost) lane.blocks.push_front(-excess);
    lane.blocks.drop_back(excess);
}

double StaticPolicy::busy_s(std::size_t processor, double now_s, const Progress& progress) const {
    const auto blocks = progress.in_flight(static_cast<int>(processor));
    if (blocks.empty()) return 0;
    const ShareTimes times = times_[processor].without_holes();
    double end_s = std::max(lanes_[processor].last_end_s, blocks.front().given_s);
    for (const BlockInFlight& block : blocks)
        end_s += times.best(up_to_multiple(block.units, load_.granularity)).kernel_s;
    return std::max(0.0, end_s - now_s);
}

Units StaticPolicy::next_block(int processor, double now_s, const Progress& progress) {
    Lane& lane = lanes_[static_cast<std::size_t>(processor)];
    if (lane.lost || lane.late) return 0;
    for (std::size_t p = 0; p < lanes_.size(); ++p) account(p, progress);
    if (lane.blocks.empty() && progress.in_flight(processor).empty()) look_for_late(now_s, progress);
    if (!changed_ && planned() != up_to_multiple(progress.remaining(), load_.granularity)) changed_ = "units came back";
    if (changed_) plan(progress.remaining(), now_s, &progress, std::exchange(changed_, nullptr));
    if (lane.blocks.empty() || (!lane.overlapped && !progress.in_flight(processor).empty())) return 0;
    const Units units = lane.blocks.take_front(progress.room(processor));
    lane.handed_out += units;
    return units;
}

/// The processor that asks has nothing to do: what is kept for somebody who is late is for others.
void StaticPolicy::look_for_late(double now_s, const Progress& progress) {
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
        Lane& its = lanes_[p];
        if (its.lost || its.blocks.empty() || !progress.is_late(static_cast<int>(p), now_s)) continue;
        its.late = true;
        its.blocks.clear();
        changed_ = "processor late";
    }
}

std::vector<OwnedUnits> StaticPolicy::owned() const {
    std::vector<OwnedUnits> ranges;
    Units first = 0;
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
        const Units units = std::min(lanes_[p].blocks.total(), load_.units - first);
        if (units > 0) ranges.push_back({static_cast<int>(p), first, units});
        first += units;
    }
    return ranges;
}

void StaticPolicy::block_finished(const FinishedBlock& block) {
    Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
    lane.finished += up_to_multiple(block.units, load_.granularity);
    lane.last_end_s = std::max(lane.last_end_s, block.end_s);
    if (std::exchange(lane.late, false)) changed_ = "late processor back";
}

void StaticPolicy::processor_lost(int processor) {
    Lane& lane = lanes_[static_cast<std::size_t>(processor)];
    lane.lost = true;
    lane.blocks.clear();
    changed_ = "processor lost";
}

}  // namespace apportion
