// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/block_flow.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace apportion {

namespace {
constexpr int kHalvings = 20;
constexpr double kPolicyThinksAgain_s = 1;  // it may keep units for who is late
constexpr double kNever_s = std::numeric_limits<double>::infinity();
}  // namespace

BlockFlow::BlockFlow(const LoadDescription& load, Policy& policy, std::vector<OwnedUnits> owned, Recovery* recovery)
    : load_(load), policy_(policy), recovery_(recovery), free_(load.processors.size()), lanes_(load.processors.size()) {
    assert(load.units >= 0 && load.granularity >= 1 && !load.processors.empty());
    policy_.begin(load_);
    for (int p = 0; p < processors(); ++p)  // one computes while the data of the other travel
        if (load.processors[static_cast<std::size_t>(p)].own_memory) lane(p).depth = 2;
    if (std::vector<OwnedUnits> its = policy_.owned(); !its.empty()) owned = std::move(its);
    Units covered = 0;
    for (const OwnedUnits& range : owned) covered += range.units;
    if (covered != load.units) owned = {{FreeUnits::kNobody, 0, load.units}};
    for (const OwnedUnits& range : owned)
        if (range.units > 0 && !load.open) free_.add({range.first, range.units}, range.processor);
}

// --- Handing out ---

Block BlockFlow::hand_out(int processor, UnitRange range, std::int64_t piece_of, double now_s) {
    const Block block{next_id_++, processor, range.first, range.units, piece_of, is_trial(processor, range.units)};
    lane(processor).blocks.push_back({block.id, block.first, block.units, now_s});
    flights_[block.id] = {.processor = processor, .piece_of = piece_of, .trial = block.trial};
    return block;
}

/// As its data are copied: one at a time, unless all processors' trials are less than half of the load; and none where
/// nobody could compute it again.
bool BlockFlow::is_trial(int processor, Units units) const {
    if (!recovery_ || recovery_->known(processor) || units > load_.granularity || processors() == 1) return false;
    if (load_.processors[static_cast<std::size_t>(processor)].own_memory) return false;  // needs no copy
    return load_.units / load_.granularity / 2 > processors() ||
           std::ranges::none_of(flights_, [](const auto& entry) { return entry.second.trial; });
}

Units BlockFlow::room(int processor) const {
    const Units limit = load_.processors[static_cast<std::size_t>(processor)].memory_units;
    if (limit == kNoLimit) return kNoLimit;
    Units used = 0;
    for (const BlockInFlight& block : lane(processor).blocks) used += block.units;
    if (used == 0) return std::max(limit, load_.granularity);
    return limit > used ? (limit - used) / load_.granularity * load_.granularity : 0;
}

void BlockFlow::ask(int processor, std::size_t depth, double now_s, std::vector<Block>& out) {
    const auto& blocks = lane(processor).blocks;
    for (const BlockInFlight& block : blocks)
        if (flights_.at(block.id).taken > 0) return;  // it may be lost soon
    while (remaining() > 0 && lane(processor).takes_blocks() && blocks.size() < depth) {
        const Units room_units = room(processor);
        if (room_units < load_.granularity) break;
        Units units = policy_.next_block(processor, now_s, *this);
        if (units <= 0) break;
        units = std::min(units, room_units);
        if (units < remaining()) units = std::max(units / load_.granularity, Units{1}) * load_.granularity;
        out.push_back(hand_out(processor, free_.take(processor, units, load_.granularity), kNone, now_s));
    }
}

void BlockFlow::ask_idle(double now_s, std::vector<Block>& out) {
    for (int p = 0; p < processors() && remaining() > 0; ++p)
        if (lane(p).blocks.empty()) ask(p, 1, now_s, out);
    const auto idle = std::ranges::find_if(lanes_, &Lane::idle);
    if (remaining() == 0 || !flights_.empty() || idle == lanes_.end()) return;
    const auto comes_soon = [](const Lane& its) { return its.occupied && its.soon_free && !its.fenced && !its.lost; };
    if (std::ranges::any_of(lanes_, comes_soon)) return;
    // Nobody wants a block and none is in flight: the load must not stand still, for who is occupied least of all.
    const auto lost = std::ranges::count(lanes_, true, &Lane::lost);
    for (int p = 0; p < processors(); ++p)
        if (lane(p).occupied) do_without(p);
    if (std::ranges::count(lanes_, true, &Lane::lost) > lost) return ask_idle(now_s, out);
    const int p = static_cast<int>(idle - lanes_.begin());
    const Units units = std::min(std::max(load_.initial_block, load_.granularity), room(p));
    out.push_back(hand_out(p, free_.take(p, units, load_.granularity), kNone, now_s));
    ++stalls_;
}

std::vector<Block> BlockFlow::ask_all(double now_s) {
    // One block each before a second one: the first to be asked must not take what others could start with.
    std::vector<Block> out;
    ask_idle(now_s, out);
    for (int p = 0; p < processors() && remaining() > 0; ++p) ask(p, lane(p).depth, now_s, out);
    compute_again(now_s, out);
    return out;
}

std::vector<Block> BlockFlow::add(UnitRange range, double now_s) {
    free_.add(range, FreeUnits::kNobody);
    policy_.units_added(range.units);
    return ask_all(now_s);
}

// --- Taking back ---

/// The block, if it is in flight, or null.
BlockInFlight* BlockFlow::find(std::int64_t id) {
    const auto flight = flights_.find(id);
    if (flight == flights_.end()) return nullptr;
    return &*std::ranges::find(lane(flight->second.processor).blocks, id, &BlockInFlight::id);
}

std::pair<BlockFlow::Flight, BlockInFlight> BlockFlow::take_out(std::int64_t id) {
    const BlockInFlight block = *find(id);
    Flight flight = flights_.extract(id).mapped();
    std::erase_if(lane(flight.processor).blocks, [id](const BlockInFlight& its) { return its.id == id; });
    return {std::move(flight), block};
}

std::vector<Block> BlockFlow::finished(std::int64_t id, double start_s, double end_s, double busy_s, double now_s,
                                       double half_busy_s) {
    auto [flight, block] = take_out(id);
    Lane& its = lane(flight.processor);
    // A node's grants may end in another order than they were given: the time since the other's end is not all of its
    // own.
    if (recovery_)
        recovery_->finished(flight.processor, block.units, end_s - start_s,
                            end_s - std::min(start_s, std::max(block.given_s, its.last_end_s)));
    const FinishedBlock record{
        id,    flight.processor, block.first, block.units, block.given_s, its.last_end_s, start_s,
        end_s, busy_s,           half_busy_s};
    its.last_end_s = std::max(its.last_end_s, end_s);
    if (flight.piece_of == kNone) {
        drop_pieces(flight);
        policy_.block_finished(record);
    } else if (flight.piece_of != kInVain) {
        piece_computed(flight.piece_of, block.units, now_s);
    }
    std::vector<Block> out;
    ask(flight.processor, its.depth, now_s, out);
    if (remaining() > 0) ask_idle(now_s, out);
    compute_again(now_s, out);
    return out;
}

void BlockFlow::returned(int processor, Units units, double end_s, double home_s) {
    const double begun_s = std::max(end_s, std::exchange(lane(processor).last_home_s, home_s));
    policy_.block_returned({processor, units, std::max(0.0, home_s - end_s), std::max(0.0, home_s - begun_s), home_s});
}

/// What others computed of it is not needed.
void BlockFlow::drop_pieces(Flight& late) {
    for (const std::int64_t piece : std::exchange(late.pieces, {})) {
        decisions_.dropped.push_back(piece);
        if (find(piece)) flights_.at(piece).piece_of = kInVain;
    }
    late.taken = late.computed = 0;
}

/// When it was the last one, the block is taken over.
void BlockFlow::piece_computed(std::int64_t late, Units units, double now_s) {
    if ((flights_.at(late).computed += units) < find(late)->units) return;
    const bool slower_than_before = is_late(flights_.at(late).processor, now_s);
    const Flight taken_over = take_out(late).first;
    decisions_.counted.insert(decisions_.counted.end(), taken_over.pieces.begin(), taken_over.pieces.end());
    decisions_.given_up.push_back(late);
    // Who has finished nothing, or is not late, is as slow as ever, for all that is known.
    if (slower_than_before && recovery_->known(taken_over.processor)) decisions_.lost.push_back(taken_over.processor);
    lose(taken_over.processor);
}

void BlockFlow::give_back(std::int64_t id) {
    auto [flight, block] = take_out(id);
    drop_pieces(flight);
    if (flight.piece_of == kNone) {
        free_.add({block.first, block.units}, FreeUnits::kNobody);
    } else if (flight.piece_of != kInVain) {
        // A gap in what was computed again: all of it is dropped, and perhaps begun once more.
        Flight& late = flights_.at(flight.piece_of);
        std::erase(late.pieces, id);
        drop_pieces(late);
    }
}

void BlockFlow::fence(int processor) {
    lane(processor).fenced = true;
    if (!std::exchange(lane(processor).lost, true)) policy_.processor_lost(processor);
}

void BlockFlow::set_occupied(int processor, bool is, bool soon_free) {
    Lane& its = lane(processor);
    its.soon_free = soon_free;
    occupied_is_told_ = true;
    its.occupied = is;
    if (!is && !its.fenced && std::exchange(its.lost, false)) policy_.processor_is_back(processor);
}

void BlockFlow::do_without(int processor) {
    if (lane(processor).lost || std::ranges::count(lanes_, false, &Lane::lost) <= 1) return;
    lane(processor).lost = true;
    policy_.processor_lost(processor);
}

bool BlockFlow::waits_for_occupied() const {
    return remaining() > 0 && flights_.empty() &&
           std::ranges::any_of(lanes_, [](const Lane& its) { return its.occupied && !its.fenced; });
}

bool BlockFlow::done() const {
    const auto in_vain = [](const auto& entry) { return entry.second.piece_of == kInVain; };
    return remaining() == 0 && std::ranges::all_of(flights_, in_vain);
}

// --- Recovery: the rule of recovery.hpp ---

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
        if (const Lane& its = lane(p); its.runs())
            at_s = std::max(at_s, its.begun_s() + recovery_->stalled_after_s(p, its.running().units));
    return at_s;
}

/// It gets nothing more, and all its blocks are for others.
void BlockFlow::lose(int processor) {
    for (const BlockInFlight& block : std::vector<BlockInFlight>(lane(processor).blocks)) {
        decisions_.given_up.push_back(block.id);
        give_back(block.id);
    }
    fence(processor);
}

bool BlockFlow::is_late(int processor, double now_s) const {
    const Lane& its = lane(processor);
    return its.runs() && now_s >= its.begun_s() + recovery_->late_after_s(processor, its.running().units);
}

double BlockFlow::overdue_s(int processor, double now_s) const {
    const Lane& its = lane(processor);
    if (!its.runs()) return 0;
    const Units units = its.running().units;
    return now_s - its.begun_s() -
           (is_late(processor, now_s) ? recovery_->should_run_s(processor, units)
                                      : recovery_->overdue_after_s(processor, units));
}

bool BlockFlow::can_be_lost(int processor) const {
    return std::ranges::all_of(lane(processor).blocks, [&](const auto& block) { return flights_.at(block.id).yields; });
}

/// Until it ends its blocks: if it is overdue, if that ends its running one now + overdue_s and it takes as long for
/// each unit of the others; else if it takes as long as it should at most; 0: nothing is known.
double BlockFlow::rest_s(int processor, double now_s) const {
    const Lane& its = lane(processor);
    double units = 0, should_s = 0;
    for (const BlockInFlight& block : its.blocks) {
        units += static_cast<double>(block.units);
        should_s += recovery_->should_run_s(processor, block.units);
    }
    const double ran_s = its.runs() ? now_s - its.begun_s() : 0;
    const double overdue_s = this->overdue_s(processor, now_s);
    if (overdue_s <= 0) return recovery_->known(processor) ? should_s - ran_s : 0;
    return (ran_s + overdue_s) * units / static_cast<double>(its.running().units) - ran_s;
}

/// First those of who would end last.
void BlockFlow::compute_again(double now_s, std::vector<Block>& out) {
    if (!recovery_ || remaining() > 0 || std::ranges::none_of(lanes_, &Lane::idle)) return;
    const double smallest_s = smallest_piece_s();
    std::vector<std::pair<double, int>> order;
    for (int p = 0; p < processors(); ++p)
        if (!lane(p).blocks.empty() && can_be_lost(p) && (is_late(p, now_s) || not_only_late()))
            order.emplace_back(rest_s(p, now_s), p);
    std::ranges::stable_sort(order, std::greater(), &std::pair<double, int>::first);
    Ends known;
    for (const auto& [rest_s, p] : order) {
        const double overdue_s = this->overdue_s(p, now_s);
        const double within_s = overdue_s > 0 ? overdue_s : rest_s / Recovery::kSurelyFaster;
        if (within_s <= 0 || within_s < smallest_s) continue;
        if (!is_late(p, now_s) && !all_end(granules_left(p), within_s, now_s, known)) continue;
        for (const BlockInFlight& block : lane(p).blocks) share_out(block, within_s, now_s, known, out);
    }
}

/// What the smallest piece takes those that have nothing to do.
double BlockFlow::smallest_piece_s() const {
    double smallest_s = kNever_s;
    for (int p = 0; p < processors(); ++p)
        if (lane(p).idle()) smallest_s = std::min(smallest_s, recovery_->whole(p).at_most_s(load_.granularity));
    return smallest_s;
}

/// How many granules of something else the processor ends in so many seconds; none, if it may be late itself.
Units BlockFlow::ends_within(int processor, double seconds, double now_s) const {
    if (!lane(processor).takes_blocks() || is_late(processor, now_s)) return 0;
    const Pace& pace = recovery_->whole(processor);
    double busy_s = 0;
    for (const BlockInFlight& block : lane(processor).blocks) busy_s += pace.at_most_s(block.units);
    if (lane(processor).runs()) busy_s = std::max(0.0, busy_s - (now_s - lane(processor).begun_s()));
    return seconds >= busy_s ? pace.within(seconds - busy_s) / load_.granularity : 0;
}

double BlockFlow::all_end_within(double seconds, double now_s) const {
    double granules = 0;
    for (int p = 0; p < processors(); ++p) granules += static_cast<double>(ends_within(p, seconds, now_s));
    return granules;
}

double BlockFlow::all_end_within_power(int exponent, double now_s, Ends& known) const {
    const auto [its, is_new] = known.emplace(exponent, 0);
    if (is_new) its->second = all_end_within(std::exp2(exponent), now_s);
    return its->second;
}

/// Whether they end so many granules in that time; often the powers of two around it tell.
bool BlockFlow::all_end(double granules, double within_s, double now_s, Ends& known) const {
    const int exponent = std::min(std::ilogb(within_s), 60);  // seconds enough for everything
    return all_end_within_power(exponent + 1, now_s, known) >= granules &&
           (all_end_within_power(exponent, now_s, known) >= granules || all_end_within(within_s, now_s) >= granules);
}

/// In which they end so many granules: a power of two, as short as will do; `most_s` if nothing shorter does.
double BlockFlow::all_end_s(double granules, double most_s, double now_s, Ends& known) const {
    if (!(most_s > 0)) return most_s;
    const int largest = std::min(std::ilogb(most_s), 60);
    int exponent = largest + 1;
    while (exponent > largest - kHalvings && all_end_within_power(exponent - 1, now_s, known) >= granules) --exponent;
    return std::min(most_s, std::exp2(exponent));
}

/// Of its units that nobody computes again.
double BlockFlow::granules_left(const BlockInFlight& block) const {
    const Units units = block.units - flights_.at(block.id).taken;
    return std::ceil(static_cast<double>(units) / static_cast<double>(load_.granularity));
}

double BlockFlow::granules_left(int processor) const {
    double granules = 0;
    for (const BlockInFlight& block : lane(processor).blocks) granules += granules_left(block);
    return granules;
}

/// Pieces of a block to those that have nothing to do, in proportion to what they end in that time, or in a half of it,
/// a quarter, ... if all that are not late end the whole block then.
void BlockFlow::share_out(const BlockInFlight& late, double within_s, double now_s, Ends& known,
                          std::vector<Block>& out) {
    Flight& flight = flights_.at(late.id);
    const double spare = granules_left(late);
    if (flight.piece_of != kNone || spare == 0) return;
    const double seconds = all_end_s(spare, within_s, now_s, known);
    const double part = spare / std::max(all_end_within(seconds, now_s), spare);
    for (int p = 0; p < processors(); ++p) {
        if (!lane(p).idle()) continue;
        const auto granules = static_cast<Units>(std::ceil(static_cast<double>(ends_within(p, seconds, now_s)) * part));
        const Units left = late.units - flight.taken;
        Units units = std::min({left, granules * load_.granularity, room(p)});
        if (units < left)
            units = units / load_.granularity * load_.granularity;  // the load may end in no whole granule
        if (units == 0) continue;
        flight.pieces.push_back(next_id_);
        out.push_back(hand_out(p, {late.first + flight.taken, units}, late.id, now_s));
        flight.taken += units;
        known.clear();
    }
}

std::vector<Block> BlockFlow::look(double now_s, bool ended) {
    std::vector<Block> out;
    if (recovery_ && now_s >= silent_at_s() && (ended || std::ranges::any_of(lanes_, &Lane::idle)))
        for (int p = 0; p < processors(); ++p) {
            // How slow a processor is that has finished no block is not known: its block is waited for, unless others
            // may compute it.
            if (!lane(p).runs()) continue;
            if (!ended && !recovery_->measured(p) && !flights_.at(lane(p).running().id).yields) continue;
            decisions_.lost.push_back(p);
            lose(p);
        }
    if (ended) return out;
    ask_idle(now_s, out);  // the policy may keep units for a late processor: now it can tell
    compute_again(now_s, out);
    return out;
}

double BlockFlow::next_look_s(double now_s) const {
    if (!recovery_ || std::ranges::none_of(lanes_, &Lane::idle)) return kNever_s;
    const double smallest_s = smallest_piece_s();
    double next_s = remaining() > 0 ? now_s + kPolicyThinksAgain_s : kNever_s;
    const auto look_at = [&](double at_s) {
        if (at_s > now_s) next_s = std::min(next_s, at_s);
    };
    look_at(silent_at_s());
    Ends known;
    for (int p = 0; p < processors(); ++p)
        if (const Lane& its = lane(p); its.runs() && can_be_lost(p)) {
            const Units units = its.running().units;
            const double overdue_s = recovery_->overdue_after_s(p, units), late_s = recovery_->late_after_s(p, units);
            look_at(its.begun_s() + std::max(late_s, recovery_->should_run_s(p, units) + smallest_s));
            if (not_only_late())
                look_at(its.begun_s() + overdue_s + all_end_s(granules_left(p), late_s - overdue_s, now_s, known));
        }
    return next_s;
}

}  // namespace apportion
