// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How BlockFlow carries out the rule of recovery.hpp.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "policies/engine/block_flow.hpp"

namespace apportion {

namespace {
constexpr double kNever_s = std::numeric_limits<double>::infinity();
}  // namespace

void BlockFlow::begins(std::int64_t id, double begun_s) {
    BlockInFlight* const block = find(id);
    if (!block) return;
    Lane& its = lane(flights_.at(id).processor);
    block->begun_s = begun_s;
    // Blocks that two threads hand to the runtime at once may run in another order than they were given.
    if (block->begun_s >= 0 && its.blocks.front().begun_s < 0) std::swap(its.blocks.front(), *block);
}

double BlockFlow::silent_at_s() const {
    double at_s = -kNever_s;
    for (int p = 0; p < processors(); ++p)
        if (const auto its = lateness(p))
            at_s = std::max(at_s, its->begun_s + recovery_->stalled_after_s(p, lane(p).running().units));
    return at_s;
}

std::optional<BlockFlow::Lateness> BlockFlow::lateness(int processor) const {
    const Lane& its = lane(processor);
    if (!recovery_ || its.blocks.empty()) return {};
    const double begun_s = among_ == Among::nodes ? its.running().given_s : its.running().begun_s;
    if (begun_s < 0) return {};
    const Units units = its.running().units;
    const auto since_s = flights_.at(its.running().id).since_s;
    return Lateness{since_s.value_or(std::max(begun_s, its.last_end_s)), recovery_->should_run_s(processor, units),
                    recovery_->overdue_after_s(processor, units), recovery_->late_after_s(processor, units),
                    recovery_->known(processor) ? recovery_->whole(processor).at_most_s(units) : kNever_s};
}

/// All its blocks are for others.
void BlockFlow::take_blocks_of(int processor) {
    for (const BlockInFlight& block : std::vector<BlockInFlight>(lane(processor).blocks)) {
        decisions_.given_up.push_back(block.id);
        give_back(block.id);
    }
}

bool BlockFlow::is_late(int processor, double now_s) const {
    const auto its = lateness(processor);
    return its && its->late(now_s);
}

bool BlockFlow::can_be_lost(int processor) const {
    return std::ranges::all_of(lane(processor).blocks, [&](const auto& block) { return flights_.at(block.id).yields; });
}

/// Until an overdue processor ends its blocks, if its running one ends now + overdue_s and each unit of the others
/// takes as long.
double BlockFlow::rest_s(int processor, const Lateness& late, double now_s) const {
    const Lane& its = lane(processor);
    double units = 0;
    for (const BlockInFlight& block : its.blocks) units += static_cast<double>(block.units);
    const double ran_s = late.ran_s(now_s);
    return (ran_s + late.overdue_s(now_s)) * units / static_cast<double>(its.running().units) - ran_s;
}

bool BlockFlow::has(int processor, Flight::Begun begun) const {
    return std::ranges::any_of(lane(processor).blocks,
                               [&](const auto& block) { return flights_.at(block.id).begun == begun; });
}

/// Whether the others at worst compute all that a node has before it does at best.
bool BlockFlow::others_end_it_sooner(int processor, const Lateness& its, double now_s) const {
    if (among_ != Among::nodes) return false;
    double least_s = -its.ran_s(now_s);
    for (const BlockInFlight& block : lane(processor).blocks) least_s += recovery_->at_least_s(processor, block.units);
    const double own = static_cast<double>(ends_within(processor, least_s, now_s));
    return all_end_within(least_s, now_s) - own >= granules_left(processor);
}

/// What the node has not begun is for others, but for a granule of what it runs: its next block comes when that has
/// ended.
void BlockFlow::want_back(int processor, const Lateness& late) {
    for (const BlockInFlight& block : lane(processor).blocks) {
        Flight& flight = flights_.at(block.id);
        if (flight.begun != Flight::Begun::perhaps || block.begun_s < 0 || flight.taken > 0) continue;
        flight.begun = Flight::Begun::asked;
        flight.since_s = late.begun_s;
        const Units kept = block.id == lane(processor).running().id ? std::min(block.units, load_.granularity) : 0;
        decisions_.wanted.emplace_back(block.id, UnitRange{block.first + kept, block.units - kept});
    }
}

/// First those of who would end last.
void BlockFlow::compute_again(double now_s, std::vector<Block>& out) {
    if (!recovery_ || std::ranges::none_of(lanes_, &Lane::idle)) return;
    Units of_trials = 0;
    for (const Trial& trial : trials_) of_trials += trial.free ? trial.range.units : 0;
    if (remaining() > of_trials) return;
    keep_trials();
    const double smallest_s = smallest_piece_s();
    std::vector<std::pair<double, int>> order;
    for (int p = 0; p < processors(); ++p) {
        const auto its = lateness(p);
        if (!its) continue;
        const bool overdue = its->overdue_s(now_s) > 0 && its->overdue_s(now_s) >= smallest_s;
        if (overdue || others_end_it_sooner(p, *its, now_s)) want_back(p, *its);
        if (!overdue) continue;
        if (can_be_lost(p) && !has(p, Flight::Begun::asked) && (its->late(now_s) || not_only_late()))
            order.emplace_back(rest_s(p, *its, now_s), p);
    }
    std::ranges::stable_sort(order, std::greater(), &std::pair<double, int>::first);
    for (const auto& entry : order) {
        const int p = entry.second;
        const Lateness its = *lateness(p);
        const double overdue_s = its.overdue_s(now_s);
        if (!its.late(now_s) && all_end_within(overdue_s, now_s) < granules_left(p)) continue;
        for (const BlockInFlight& block : lane(p).blocks) share_out(block, overdue_s, now_s, out);
    }
}

/// How long others must be overdue for the smallest piece of those that have nothing to do.
double BlockFlow::smallest_piece_s() const {
    double smallest_s = kNever_s;
    for (int p = 0; p < processors(); ++p)
        if (lane(p).idle()) smallest_s = std::min(smallest_s, recovery_->whole(p).at_most_s(load_.granularity));
    return smallest_s;
}

/// How many granules of something else the processor ends in so many seconds; none, if it may be late itself.
Units BlockFlow::ends_within(int processor, double seconds, double now_s) const {
    const auto its = lateness(processor);
    if (!lane(processor).takes_blocks() || (its && its->late(now_s))) return 0;
    const Pace& pace = recovery_->whole(processor);
    double busy_s = 0;
    for (const BlockInFlight& block : lane(processor).blocks) busy_s += pace.at_most_s(block.units);
    if (its) busy_s = std::max(0.0, busy_s - its->ran_s(now_s));
    return seconds >= busy_s ? pace.within(seconds - busy_s) / load_.granularity : 0;
}

double BlockFlow::all_end_within(double seconds, double now_s) const {
    double granules = 0;
    for (int p = 0; p < processors(); ++p) granules += static_cast<double>(ends_within(p, seconds, now_s));
    return granules;
}

/// Of its units that nobody computes again.
double BlockFlow::granules_left(const BlockInFlight& block) const {
    const Flight& flight = flights_.at(block.id);
    const Units units = flight.alone ? 0 : block.units - flight.taken;
    return std::ceil(static_cast<double>(units) / static_cast<double>(load_.granularity));
}

double BlockFlow::granules_left(int processor) const {
    double granules = 0;
    for (const BlockInFlight& block : lane(processor).blocks) granules += granules_left(block);
    return granules;
}

/// Pieces of a block to those that have nothing to do, in proportion to what they end in that time, or in a half of it,
/// a quarter, ... if all that are not late end the whole block then.
void BlockFlow::share_out(const BlockInFlight& late, double within_s, double now_s, std::vector<Block>& out) {
    Flight& flight = flights_.at(late.id);
    const double spare = granules_left(late);
    if (flight.piece_of != kNone || spare == 0) return;
    constexpr double kShortest = 1e-6;  // of the time
    double seconds = within_s;
    while (seconds > kShortest * within_s && all_end_within(seconds / 2, now_s) >= spare) seconds /= 2;
    const double part = spare / std::max(all_end_within(seconds, now_s), spare);
    const double ever_s = lateness(flight.processor)->ever_s;
    for (int p = 0; p < processors(); ++p) {
        if (!lane(p).idle()) continue;
        const double unit_s =  // at its best
            recovery_->whole(p).at_most_s(load_.units) / static_cast<double>(load_.units);
        const auto most = static_cast<Units>(std::min(static_cast<double>(late.units), ever_s / unit_s));
        const double dearest_s = recovery_->longest() * recovery_->whole(p).at_most_s(load_.granularity);
        if (most < load_.granularity && within_s < dearest_s) continue;
        const auto granules =
            std::min(static_cast<Units>(std::ceil(static_cast<double>(ends_within(p, seconds, now_s)) * part)),
                     std::max(Units{1}, most / load_.granularity));
        const Units left = late.units - flight.taken;
        lane(p).waits_for_room = room(p) == 0;
        Units units = std::min({left, granules * load_.granularity, room(p)});
        if (units < left)
            units = units / load_.granularity * load_.granularity;  // the load may end in no whole granule
        if (units == 0) continue;
        flight.pieces.push_back(next_id_);
        out.push_back(hand_out(p, {late.first + flight.taken, units}, late.id, now_s));
        flight.taken += units;
    }
}

std::vector<Block> BlockFlow::look(double now_s, bool ended) {
    std::vector<Block> out;
    if (recovery_ && now_s >= silent_at_s() && (ended || std::ranges::any_of(lanes_, &Lane::idle)))
        for (int p = 0; p < processors(); ++p) {
            // How slow a processor is that has finished no block is not known: its block is waited for, unless others
            // may compute it. So is one that a node computes in place: its own load judges that.
            if (!lateness(p)) continue;
            const bool unjudged = among_ == Among::nodes || !recovery_->measured(p);
            if (!ended && unjudged && !flights_.at(lane(p).running().id).yields) continue;
            decisions_.lost.push_back(p);
            take_blocks_of(p);
            fence(p);
        }
    if (ended) return out;
    ask_idle(now_s, out);  // the policy may keep units for a late processor: now it can tell
    compute_again(now_s, out);
    return out;
}

double BlockFlow::next_look_s(double now_s) const {
    if (!recovery_ || std::ranges::none_of(lanes_, &Lane::idle)) return kNever_s;
    const double smallest_s = smallest_piece_s();
    double next_s = remaining() > 0 ? now_s + asked_again_after_s(now_s) : kNever_s;
    const auto look_at = [&](double at_s) {
        if (at_s > now_s) next_s = std::min(next_s, at_s);
    };
    look_at(silent_at_s());
    for (int p = 0; p < processors(); ++p)
        if (const auto its = lateness(p)) {
            if (remaining() > 0) look_at(its->begun_s + its->late_after_s);
            if (has(p, Flight::Begun::perhaps)) look_at(its->begun_s + its->overdue_after_s + smallest_s);
            if (!can_be_lost(p)) continue;
            look_at(its->begun_s + std::max(its->late_after_s, its->should_s + smallest_s));
            if (not_only_late())
                // When it has been overdue for twice as long as now: others have twice the time then.
                look_at(std::max(its->begun_s + its->overdue_after_s + smallest_s, now_s + its->overdue_s(now_s)));
        }
    return next_s;
}

}  // namespace apportion
