// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/plb_hec/plb_hec_plan.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "policies/shared/block_costs.hpp"
#include "policies/shared/nothing_in_flight.hpp"

namespace apportion {

namespace {

constexpr int kFirstSizes = 4;                // of alike devices: the first, twice, four and eight times as many units
constexpr double kAssumedFixed = 0.8;         // of a device's first block, while one size is known
constexpr double kPredictionError = 0.05;     // of the duration of a block within the measured range, at least
constexpr double kExtrapolationError = 0.05;  // more for every doubling beyond it
constexpr double kPrecision = 1e-3;           // of a granule, of shares before they are rounded
constexpr double kNeverPerUnit_s = 1e9;       // of an idle processor of which nothing is known: it gets no share

}  // namespace

void PlbHecPlan::begin(const LoadDescription& load) {
    load_ = load;
    plan_ = {};
    given_.assign(load.processors.size(), 0);
    outdate();
    solver_.reset_statistics();
    last_.assign(load.processors.size(), {});
    free_.assign(load.processors.size(), {});
    refused_.assign(load.processors.size(), false);
    lost_.assign(load.processors.size(), false);
    planned_end_s_.assign(load.processors.size(), {});
    planned_share_end_s_.assign(load.processors.size(), 0);
}

Units PlbHecPlan::first_units(int processor) const {
    constexpr double kDistinct = 1e-8;  // of the load: planned shares are no more precise than a part of that
    if (!at(processor).own_memory)
        return round_to_granularity(kDistinct * static_cast<double>(load_.units), load_.granularity);
    if (load_.initial_block_chosen) return load_.initial_block;
    const Units first = first_of_devices(processor);
    const Units most = std::min(load_.units / 2, std::max(first + 1, in_latency(processor)));
    Units units = first;
    for (int k = of_its_kind_before(processor) % kFirstSizes; k > 0 && units < most; --k) units *= 2;
    return units;
}

/// Alike devices with as many units all would tell one time only.
int PlbHecPlan::of_its_kind_before(int processor) const {
    return static_cast<int>(std::count_if(load_.processors.begin(), load_.processors.begin() + processor,
                                          [&](const Processor& its) { return its.kind == at(processor).kind; }));
}

Units PlbHecPlan::first_of_devices(int processor) const {
    const auto devices = static_cast<int>(std::ranges::count_if(load_.processors, &Processor::own_memory));
    const Units of_devices = default_initial_block(load_.units, load_.granularity, devices);
    const bool linked = index(processor) < load_.links.size() && load_.links[index(processor)].seconds_per_unit() > 0;
    return linked ? std::max(load_.initial_block, std::min(of_devices, in_latency(processor))) : load_.initial_block;
}

/// Units that the link carries in the time of its latency; all, where none is known.
Units PlbHecPlan::in_latency(int processor) const {
    if (index(processor) >= load_.links.size()) return load_.units;
    const LoadDescription::Link& link = load_.links[index(processor)];
    if (!(link.seconds_per_unit() > 0)) return load_.units;
    return round_to_granularity(link.latency_s() / link.seconds_per_unit(), load_.granularity);
}

/// What the processor's remaining share would take, from all that is known now.
PipelineTime PlbHecPlan::time_of(int processor, double now_s, std::span<const BlockInFlight> in_flight) const {
    const TransferLine& in = models_.in(processor);
    const FittedCurve* curve = models_.curve(processor);
    double running_s = 0, running_units = 0;
    if (!in_flight.empty()) {
        running_units = static_cast<double>(in_flight.front().units);
        const PipelineTime time(0, 0, in, models_.out(processor), at(processor));
        running_s = now_s - time.start_of(in_flight.front(), last_[index(processor)]);
    }
    if (curve && models_.sizes_differ(processor)) {
        PipelineTime time(*curve, in, models_.out(processor), at(processor));
        const double expected_s = curve->seconds(running_units);
        if (running_units > 0 && running_s > kTwice * expected_s) time.slow_down(kTwice * running_s / expected_s - 1);
        return time;
    }
    if (!curve) return PipelineTime(0, kNeverPerUnit_s, in, models_.out(processor), at(processor));
    // One size is known.
    const double units = curve->largest_measured(), seconds = curve->seconds(units);
    if (const FittedCurve* kind = models_.curve_of_kind(processor)) {
        PipelineTime time(*kind, in, models_.out(processor), at(processor));
        double slowdown = seconds / kind->seconds(units);
        if (running_units > 0) slowdown = std::max(slowdown, kTwice * running_s / kind->seconds(running_units));
        time.slow_down(slowdown);
        return time;
    }
    const double fixed_s = at(processor).own_memory ? kAssumedFixed * seconds : 0;
    double slope_s = (seconds - fixed_s) / units;
    if (running_units > units) slope_s = std::max(slope_s, (kTwice * running_s - fixed_s) / running_units);
    return PipelineTime(fixed_s, slope_s, in, models_.out(processor), at(processor));
}

/// A processor that computes its first block is taken to be as fast as the fastest known, or slower by as much as that
/// block has taken already.
void PlbHecPlan::guess_unknown(double now_s, const Progress& progress) {
    const double share = problem_.units / static_cast<double>(times_.size());
    const PipelineTime* fastest = nullptr;
    for (std::size_t p = 0; p < times_.size(); ++p)
        if (models_.curve(static_cast<int>(p)) && (!fastest || times_[p].seconds(share) < fastest->seconds(share)))
            fastest = &times_[p];
    for (std::size_t p = 0; p < times_.size() && fastest; ++p) {
        const int processor = static_cast<int>(p);
        if (models_.curve(processor) || progress.in_flight(processor).empty()) continue;
        const BlockInFlight& first = progress.in_flight(processor).front();
        const double known_s = fastest->kernel_seconds(static_cast<double>(first.units));
        times_[p] = *fastest;
        times_[p].slow_down(std::max(1.0, kTwice * (now_s - first.given_s) / known_s));
    }
}

/// The problem of everything not handed out.
void PlbHecPlan::pose(double now_s, const Progress& progress) {
    const int count = static_cast<int>(load_.processors.size());
    times_.clear();
    times_.reserve(load_.processors.size());
    problem_.processors.clear();
    problem_.units = static_cast<double>(progress.remaining());
    problem_.expected_finish_s = plan_.finish_s;
    problem_.tolerance = std::clamp(kPrecision * granule() / problem_.units, 1e-9, kPrecision);
    for (int p = 0; p < count; ++p) times_.push_back(time_of(p, now_s, progress.in_flight(p)));
    guess_unknown(now_s, progress);
    problem_.processors.resize(load_.processors.size());
    planned_end_s_.resize(load_.processors.size());
    for (int p = 0; p < count; ++p) pose_processor(p, now_s, progress);
}

/// What it computes already, and when that ends.
void PlbHecPlan::pose_processor(int processor, double now_s, const Progress& progress) {
    const auto in_flight = progress.in_flight(processor);
    PipelineTime& time = times_[index(processor)];
    std::deque<double>& ends_s = planned_end_s_[index(processor)];
    ends_s.clear();
    PipelineTime::Free& free = free_[index(processor)] = last_[index(processor)];
    for (const BlockInFlight& block : in_flight) {
        free = time.with(block, free, now_s);
        ends_s.push_back(free.end_s);
    }
    time.follow(!in_flight.empty());
    EqualFinishProcessor& entry = problem_.processors[index(processor)];
    entry = {.time = &time, .busy_until_s = std::max(free.end_s, now_s)};
    if (index(processor) < plan_.shares_units.size()) entry.expected_units = share(processor);
    if (lost_[index(processor)]) entry.maximum_units = 0;
}

void PlbHecPlan::make(double now_s, const Progress& progress) {
    if (holds(now_s, progress)) return;
    pose(now_s, progress);
    share_out();
    leave_out_untried(now_s);
    made_ = true;
    outdated_.clear();
    unshared_ = rests_ = 0;
    checked_at_s_ = now_s;
    left_ = progress.remaining();
}

/// Whether the last plan will do, perhaps with other shares for a few.
bool PlbHecPlan::holds(double now_s, const Progress& progress) {
    if (!made_ || progress.remaining() > left_ || !compare(now_s, progress)) return false;
    for (const int p : std::exchange(outdated_, {}))
        if (!adjust(p, now_s, progress)) return false;
    return true;
}

/// Finds who is overdue, or is free or has nothing more to do, and ends otherwise than planned. All that are asked at
/// one moment go by one plan. False: somebody was left out who is known now.
bool PlbHecPlan::compare(double now_s, const Progress& progress) {
    if (checked_at_s_ == now_s) return true;
    for (int p = 0; p < static_cast<int>(times_.size()); ++p) {
        const std::deque<double>& ends_s = planned_end_s_[index(p)];
        if (!ends_s.empty() && now_s > ends_s.front() + worthwhile_error_s_) outdate(p);
        const bool left_out = problem_.processors[index(p)].maximum_units <= 0;
        if (left_out && !lost(p) && !is_untried(p)) return false;
        if (left_out || !progress.in_flight(p).empty()) continue;
        times_[index(p)] = time_of(p, now_s, {});
        pose_processor(p, now_s, progress);
        if (std::abs(share_end_s(p) - planned_share_end_s_[index(p)]) > worthwhile_error_s_) outdate(p);
    }
    checked_at_s_ = now_s;
    return true;
}

/// Gives the processor the share that it ends by the common finish. False: shares changed by too much for that, or
/// nothing is known of it.
bool PlbHecPlan::adjust(int processor, double now_s, const Progress& progress) {
    EqualFinishProcessor& entry = problem_.processors[index(processor)];
    if (!models_.curve(processor) || entry.maximum_units <= 0) return false;
    const double before = share(processor);
    times_[index(processor)] = time_of(processor, now_s, progress.in_flight(processor));
    pose_processor(processor, now_s, progress);
    const auto all = static_cast<double>(left_);
    // What it could end beyond all that is left tells how much earlier than planned all would end.
    const double most = share_ending_by(entry, kTwice * all, plan_.finish_s);
    const double whole = std::floor(most / granule() * (1 + 1e-9)) * granule();
    plan_.shares_units[index(processor)] = most < all ? whole : all;
    given_[index(processor)] = 0;
    unshared_ += before - whole;
    planned_share_end_s_[index(processor)] = share_end_s(processor);
    // What is in two shares ends all earlier than planned, and is no worse than what the times are wrong by.
    constexpr double kMostUnshared = 0.01;  // of the units
    return unshared_ >= 0 ? unshared_ <= kMostUnshared * units()
                          : -unshared_ * (plan_.finish_s - now_s) <= worthwhile_error_s_ * all;
}

/// When the processor ends all that it is to compute.
double PlbHecPlan::share_end_s(int processor) const {
    if (share(processor) > 0) return end_s(processor, share(processor));
    const std::deque<double>& ends_s = planned_end_s_[index(processor)];
    return ends_s.empty() ? last_end_s(processor) : ends_s.back();
}

void PlbHecPlan::answered(int processor, Units units) {
    if (units == 0) had_nothing(processor);
}

/// While one processor's block is decided on, others wait for theirs.
void PlbHecPlan::learn_waiting(const FinishedBlock& block) {
    constexpr double kLatest = 1.0 / 16;  // of the mean
    const bool refused = refused_[index(block.processor)];
    refused_[index(block.processor)] = false;
    if (at(block.processor).own_memory || block.previous_end_s <= 0 || refused) return;
    waiting_s_ += kLatest * (std::max(0.0, block.given_s - block.previous_end_s) - waiting_s_);
}

void PlbHecPlan::block_ended(const FinishedBlock& block) {
    const int processor = block.processor;
    const double end_s = block.end_s;
    learn_waiting(block);
    last_[index(processor)] = {block.start_s, end_s};
    checked_at_s_.reset();
    std::deque<double>& ends_s = planned_end_s_[index(processor)];
    if (ends_s.empty()) return;
    if (std::abs(end_s - ends_s.front()) > worthwhile_error_s_) outdate(processor);
    ends_s.pop_front();
}

void PlbHecPlan::gave(int processor, Units units, double now_s) {
    if (units <= 0) return;
    left_ -= units;
    PipelineTime& time = times_[index(processor)];
    given_[index(processor)] += static_cast<double>(units);
    PipelineTime::Free& free = free_[index(processor)];
    free.end_s = problem_.processors[index(processor)].busy_until_s;
    free = time.with({.units = units, .given_s = now_s}, free, now_s);
    problem_.processors[index(processor)].busy_until_s = free.end_s;
    planned_end_s_[index(processor)].push_back(free.end_s);
    time.follow(true);
}

void PlbHecPlan::leave_rest(int processor) {
    double& given = given_[index(processor)];
    rests_ += plan_.shares_units[index(processor)] - given;
    given = plan_.shares_units[index(processor)];
    planned_share_end_s_[index(processor)] = share_end_s(processor);
}

void PlbHecPlan::take_rests(int processor) {
    const double more = std::max(rests_, -share(processor)), by_s = plan_.finish_s + worthwhile_error_s_;
    if (more == 0 || (more > 0 && end_s(processor, share(processor) + more) > by_s)) return;
    plan_.shares_units[index(processor)] += more;
    rests_ -= more;
    planned_share_end_s_[index(processor)] = share_end_s(processor);
}

void PlbHecPlan::pose_for_all() {
    pose(0, NothingInFlight(load_.units));
    for (std::size_t p = 0; p < times_.size(); ++p)
        times_[p].stay(load_.staying, models_.in_beside_staying(static_cast<int>(p)));
    outdate();
}

void PlbHecPlan::refine() {
    for (std::size_t p = 0; p < times_.size(); ++p) times_[p].fix_blocks(plan_.shares_units[p]);
    plan_ = solver_.solve(problem_);
    for (PipelineTime& time : times_) time.release_blocks();
    round_shares();
}

/// An untried processor is given nothing if it might outlast with the smallest block what the others need without any
/// untried ones, by more than all untried ones gain if they are what they are thought to be.
void PlbHecPlan::leave_out_untried(double now_s) {
    std::vector<int> untried;
    for (int p = 0; p < static_cast<int>(load_.processors.size()); ++p)
        if (problem_.processors[index(p)].maximum_units > 0 && is_untried(p) && models_.curve(p)) untried.push_back(p);
    if (untried.empty()) return;
    const double with_all_s = plan_.finish_s;
    const std::vector<EqualFinishProcessor> all = problem_.processors;
    for (const int p : untried) problem_.processors[index(p)].maximum_units = 0;
    share_out();
    if (!plan_.feasible) {  // there are no others
        problem_.processors = all;
        share_out();
        return;
    }
    bool some = false;
    const double gain_s = plan_.finish_s - with_all_s;
    for (const int p : untried) {
        const auto first = static_cast<double>(first_units(p));
        const double block_s = std::max(models_.curve(p)->seconds(first), models_.suspected_s(p, first));
        if (now_s + kTwice * block_s > plan_.finish_s + gain_s) continue;
        problem_.processors[index(p)].maximum_units = all[index(p)].maximum_units;
        some = true;
    }
    if (some) share_out();
}

/// The common finish is that of whole granules: with few of them all end later than real shares would, and one more
/// processor may be worth more.
void PlbHecPlan::share_out() {
    plan_ = equal_finish(problem_);
    round_shares();
}

/// The shares in whole granules with which all are done first: by the common finish every processor ends the granules
/// that are whole in its share, and each further one goes where it ends first.
void PlbHecPlan::round_shares() {
    given_.assign(times_.size(), 0);
    double left = problem_.units;
    for (double& share : plan_.shares_units) {
        share = std::floor(share / granule() * (1 + 1e-9)) * granule();
        left -= share;
    }
    // Of loads so large that doubles are no whole numbers, more than one for each may be left.
    const double step = std::max(1.0, std::floor(left / granule() / static_cast<double>(times_.size()))) * granule();
    using EndOfMore = std::tuple<double, bool, int>;  // of two that end it at once, one that is idle
    std::priority_queue<EndOfMore, std::vector<EndOfMore>, std::greater<>> ends;
    const auto add = [&](int p) {
        ends.emplace(end_s(p, share(p) + std::min(step, left)), !planned_end_s_[index(p)].empty(), p);
    };
    for (int p = 0; p < static_cast<int>(times_.size()) && left > 0; ++p) add(p);
    while (left > 0 && std::isfinite(std::get<double>(ends.top()))) {
        const auto [next_s, computes, p] = ends.top();
        ends.pop();
        plan_.finish_s = std::max(plan_.finish_s, next_s);
        const double more = std::min(step, left);
        plan_.shares_units[index(p)] += more;
        left -= more;
        add(p);
    }
    find_worthwhile_error();
    for (int p = 0; p < static_cast<int>(times_.size()); ++p) planned_share_end_s_[index(p)] = share_end_s(p);
}

double PlbHecPlan::end_s(int processor, double units) const {
    const EqualFinishProcessor& entry = problem_.processors[index(processor)];
    return entry.maximum_units > 0 ? entry.busy_until_s + entry.time->seconds(units)
                                   : std::numeric_limits<double>::infinity();
}

bool PlbHecPlan::others_end(int processor, double units, double by_s) const {
    for (int p = 0; p < static_cast<int>(times_.size()) && units > 0; ++p) {
        const EqualFinishProcessor& entry = problem_.processors[index(p)];
        if (p != processor && entry.maximum_units > 0)
            units -= std::floor(share_ending_by(entry, units, by_s) / granule()) * granule();
    }
    return units <= 0;
}

double PlbHecPlan::error_s(int processor, double block) const {
    const FittedCurve& curve = *models_.curve(processor);
    const double doublings = std::max(0.0, std::log2(block / curve.largest_measured()));
    return time(processor).kernel_seconds(block) *
           (std::max(kPredictionError, curve.relative_error()) + kExtrapolationError * doublings);
}

void PlbHecPlan::find_worthwhile_error() {
    compute_ = 0;
    double sum = 0;
    for (int p = 0; p < static_cast<int>(times_.size()); ++p) {
        const double share = plan_.shares_units[index(p)];
        compute_ += share >= granule() || !planned_end_s_[index(p)].empty();
        if (share < granule() || !models_.curve(p)) continue;
        const double block = share / time(p).blocks(share).count;
        const double in_halves_s = 2 * time(p).kernel_seconds(block / 2) - time(p).kernel_seconds(block);
        const double of_curve_s = std::max(in_halves_s, models_.curve(p)->seconds(0));
        const double known_s = models_.told_fixed_s(p).value_or(std::min(of_curve_s, models_.shortest_s(p)));
        const double fixed_s = std::max(known_s, kBlockOverhead_s) + waiting_s_;
        sum += fixed_s * share / units() * error_s(p, block);
    }
    worthwhile_error_s_ = std::sqrt(sum);
}

}  // namespace apportion
