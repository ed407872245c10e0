// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/block_flow.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace apportion {

BlockFlow::BlockFlow(const LoadDescription& load, Policy& policy, std::vector<OwnedUnits> owned, Recovery* recovery,
                     Among among)
    : load_(load),
      policy_(policy),
      recovery_(recovery),
      among_(among),
      free_(load.processors.size()),
      lanes_(load.processors.size()) {
    assert(load.units >= 0 && load.granularity >= 1 && !load.processors.empty());
    if (recovery_) recovery_->begin_run();
    policy_.begin(load_);
    const auto devices = std::ranges::count(load.processors, true, &Processor::own_memory);
    for (int p = 0; p < processors(); ++p) {
        const Processor& its = load.processors[static_cast<std::size_t>(p)];
        if (its.own_memory) lane(p).depth = 2;  // one computes while the data of the other travel
        lane(p).from_end = among == Among::workers && !load.open && policy_.begins_at_end(p);
        if (its.memory_units != kNoLimit)
            lane(p).memory = DeviceMemory(its.memory_units, load.units / std::max(devices, Units{1}), load.granularity);
    }
    if (std::vector<OwnedUnits> its = policy_.owned(); !its.empty()) owned = std::move(its);
    Units covered = 0;
    for (const OwnedUnits& range : owned) covered += range.units;
    if (covered != load.units) owned = {{FreeUnits::kNobody, 0, load.units}};
    for (const OwnedUnits& range : owned)
        if (range.units > 0 && !load.open) free_.add({range.first, range.units}, range.processor);
}

// --- Handing out ---

Block BlockFlow::hand_out(int processor, UnitRange range, std::int64_t piece_of, double now_s) {
    Block block{next_id_++, processor, range.first, range.units, piece_of, computes_apart(processor, range.units)};
    block.room = lane(processor).memory.take(block.id, block.units);
    if (piece_of == kNone) end_trials(range);
    lane(processor).blocks.push_back({block.id, block.first, block.units, now_s});
    flights_[block.id] = {.processor = processor, .piece_of = piece_of, .apart = block.apart};
    if (among_ == Among::nodes && piece_of == kNone) flights_.at(block.id).begun = Flight::Begun::perhaps;
    return block;
}

/// As its data are copied: one at a time, unless all processors' smallest blocks are less than half of the load, and
/// only where others are of another kind, which may be much faster; and none where nobody could compute it again.
bool BlockFlow::computes_apart(int processor, Units units) const {
    if (!recovery_ || recovery_->known(processor) || units > load_.granularity || processors() == 1) return false;
    if (load_.processors[static_cast<std::size_t>(processor)].own_memory) return false;  // needs no copy
    if (load_.units / load_.granularity / 2 > processors()) return true;
    const int kind = load_.processors[static_cast<std::size_t>(processor)].kind;
    return std::ranges::any_of(load_.processors, [&](const Processor& other) { return other.kind != kind; }) &&
           std::ranges::none_of(flights_, [](const auto& entry) { return entry.second.apart; });
}

/// A trial is of the last units, which are needed last.
UnitRange BlockFlow::take(int processor, Units units) {
    const bool trial = among_ == Among::workers && !load_.open && policy_.answered_trial();
    if (trial || lane(processor).from_end) {
        if (const auto range = free_.take_before(before_trials(), units, load_.granularity)) {
            if (trial) trials_.push_back({next_id_, *range});
            return *range;
        }
    }
    return free_.take(processor, units, load_.granularity);
}

Units BlockFlow::before_trials() const {
    Units before = load_.units;
    for (const Trial& trial : trials_) before = std::min(before, trial.range.first);
    return before;
}

Progress::NextUnits BlockFlow::next_units(int processor) const {
    if (free_.count() == 0) return {};
    if (lane(processor).from_end)
        if (const UnitRange last = free_.last_before(before_trials(), load_.granularity); last.units > 0)
            return {last, true};
    return free_.next(processor);
}

void BlockFlow::may_be_taken_over(std::int64_t id) {
    flights_.at(id).yields = true;
    const auto trial = std::ranges::find(trials_, id, &Trial::id);
    if (!recovery_ || trial == trials_.end() || trial->free) return;
    trial->free = true;
    free_.add(trial->range, FreeUnits::kNobody);
}

/// The trial, if its units are free, or null.
const BlockFlow::Trial* BlockFlow::free_trial(std::int64_t id) const {
    const auto trial = std::ranges::find(trials_, id, &Trial::id);
    return trial != trials_.end() && trial->free ? &*trial : nullptr;
}

/// Of units that somebody else computes now. Their processors are occupied until somebody tells that they are not.
void BlockFlow::end_trials(UnitRange range) {
    for (const Trial& trial : std::vector(trials_)) {
        const bool apart =
            range.first + range.units <= trial.range.first || trial.range.first + trial.range.units <= range.first;
        if (apart || !trial.free) continue;
        const int processor = take_out(trial.id).first.processor;
        decisions_.given_up.push_back(trial.id);
        lane(processor).occupied = true;
        do_without(processor);
    }
}

/// Nothing else is left, and the policy gives their units to nobody who is idle: they are blocks as others from now on.
void BlockFlow::keep_trials() {
    for (Trial& trial : trials_)
        if (std::exchange(trial.free, false)) free_.withdraw(trial.range);
}

Units BlockFlow::room(int processor) const {
    const Units units = lane(processor).memory.room();
    return units == kNoLimit ? units : units / load_.granularity * load_.granularity;
}

void BlockFlow::ask(int processor, std::size_t depth, double now_s, std::vector<Block>& out) {
    const auto& blocks = lane(processor).blocks;
    for (const BlockInFlight& block : blocks) {
        const Flight& flight = flights_.at(block.id);
        if (flight.taken > 0) return;  // it may be lost soon
        if (among_ == Among::nodes && flight.piece_of == kNone && flight.begun != Flight::Begun::perhaps) return;
    }
    lane(processor).waits_for_room = false;
    while (remaining() > 0 && lane(processor).takes_blocks() && blocks.size() < depth) {
        const Units room_units = room(processor);
        Units units = room_units == 0 ? 0 : policy_.next_block(processor, now_s, *this);
        lane(processor).waits_for_room = units <= 0 && (room_units == 0 || lane(processor).memory.empties());
        if (units <= 0) break;
        units = std::min(units, room_units);
        if (units < remaining()) units = std::max(units / load_.granularity, Units{1}) * load_.granularity;
        const UnitRange range = take(processor, units);
        out.push_back(hand_out(processor, range, kNone, now_s));
    }
}

void BlockFlow::ask_idle(double now_s, std::vector<Block>& out) {
    for (int p = 0; p < processors() && remaining() > 0; ++p)
        if (lane(p).blocks.empty()) ask(p, 1, now_s, out);
    const auto idle = std::ranges::find_if(lanes_, &Lane::idle);
    if (remaining() == 0 || !flights_.empty() || idle == lanes_.end()) return;
    const auto comes_soon = [](const Lane& its) {
        return !its.fenced && !its.lost && (its.occupied ? its.soon_free : its.waits_for_room);
    };
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
    std::erase_if(trials_, [id](const Trial& trial) { return trial.id == id; });
    Lane& its = lane(flight.processor);
    std::erase_if(its.blocks, [id](const BlockInFlight& other) { return other.id == id; });
    its.memory.ended(id);
    return {std::move(flight), block};
}

void BlockFlow::note_finished(std::int64_t id, double start_s, double end_s, double busy_s, double now_s,
                              double half_busy_s, bool data_there) {
    if (const Trial* trial = free_trial(id)) free_.withdraw(trial->range);
    auto [flight, block] = take_out(id);
    Lane& its = lane(flight.processor);
    // A node's grants may end in another order than they were given: the time since the other's end is not all of its
    // own.
    const double whole_s = end_s - std::min(start_s, std::max(block.given_s, its.last_end_s));
    if (recovery_) {
        // What it computes again are others' units: their data are not there.
        const auto p = static_cast<std::size_t>(flight.processor);
        const double bring_s = data_there ? load_.bring_staying_s(p, static_cast<double>(block.units)) : 0;
        recovery_->finished(flight.processor, block.units, among_ == Among::nodes ? whole_s : end_s - start_s,
                            whole_s + bring_s);
    }
    const FinishedBlock record{
        id,    flight.processor, block.first, block.units, block.given_s, its.last_end_s, start_s,
        end_s, busy_s,           half_busy_s, data_there};
    its.last_end_s = std::max(its.last_end_s, end_s);
    if (flight.piece_of == kNone) {
        drop_pieces(flight);
        policy_.block_finished(record);
    } else if (flight.piece_of != kInVain) {
        piece_computed(flight.piece_of, block.units, now_s);
    }
    freed_.push_back(flight.processor);
}

std::vector<Block> BlockFlow::ask_freed(double now_s) {
    std::vector<Block> out;
    const std::vector<int> freed = std::exchange(freed_, {});
    for (const int p : freed) ask(p, 1, now_s, out);
    for (const int p : freed) ask(p, lane(p).depth, now_s, out);
    if (remaining() > 0) ask_idle(now_s, out);
    compute_again(now_s, out);
    return out;
}

bool BlockFlow::returned(std::int64_t id, int processor, Units units, double end_s, double home_s) {
    Lane& its = lane(processor);
    const double begun_s = std::max(end_s, its.last_home_s);  // of two at once, the later one may be heard first
    its.last_home_s = std::max(its.last_home_s, home_s);
    its.memory.home(id);
    policy_.block_returned({processor, units, std::max(0.0, home_s - end_s), std::max(0.0, home_s - begun_s), home_s});
    if (its.waits_for_room) freed_.push_back(processor);
    return std::exchange(its.waits_for_room, false);
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
    const int processor = flights_.at(late).processor;
    const bool slower_than_before = is_late(processor, now_s), waited = lane(processor).running().id != late;
    const Flight taken_over = take_out(late).first;
    decisions_.counted.insert(decisions_.counted.end(), taken_over.pieces.begin(), taken_over.pieces.end());
    decisions_.given_up.push_back(late);
    if (waited) return;  // for a block that goes on
    take_blocks_of(processor);
    if (load_.open) {
        lane(processor).occupied = lane(processor).taken_over = true;  // until somebody tells that it is not
        do_without(processor);
        return;
    }
    // Who has finished nothing, or is not late, is as slow as ever, for all that is known.
    if (slower_than_before && recovery_->known(processor)) decisions_.lost.push_back(processor);
    fence(processor);
}

bool BlockFlow::give_back(std::int64_t id) {
    if (!find(id)) return false;
    const bool is_free = free_trial(id) != nullptr;
    auto [flight, block] = take_out(id);
    drop_pieces(flight);
    if (is_free) return true;
    if (flight.piece_of == kNone) {
        free_.add({block.first, block.units}, FreeUnits::kNobody);
    } else if (flight.piece_of != kInVain) {
        // A gap in what was computed again: all of it is dropped, and perhaps begun once more.
        Flight& late = flights_.at(flight.piece_of);
        std::erase(late.pieces, id);
        drop_pieces(late);
    }
    return true;
}

std::vector<Block> BlockFlow::withdrawn(std::int64_t id, Units kept, double now_s) {
    flights_.at(id).begun = Flight::Begun::all;
    BlockInFlight& block = *find(id);
    if (kept == 0) {
        give_back(id);
    } else if (kept < block.units) {
        if (flights_.at(id).piece_of == kNone) free_.add({block.first + kept, block.units - kept}, FreeUnits::kNobody);
        block.units = kept;
    }
    return ask_all(now_s);
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
    its.taken_over = its.taken_over && is;
    if (!is && !its.fenced && std::exchange(its.lost, false)) policy_.processor_is_back(processor);
}

bool BlockFlow::do_without(int processor) {
    Lane& its = lane(processor);
    if (!its.lost && std::ranges::count(lanes_, false, &Lane::lost) > 1) {
        its.lost = true;
        policy_.processor_lost(processor);
    }
    return its.lost;
}

bool BlockFlow::waits_for_occupied() const {
    return remaining() > 0 && flights_.empty() &&
           std::ranges::any_of(lanes_, [](const Lane& its) { return its.occupied && !its.fenced; });
}

bool BlockFlow::done() const {
    const auto in_vain = [](const auto& entry) { return entry.second.piece_of == kInVain; };
    return remaining() == 0 && std::ranges::all_of(flights_, in_vain);
}

}  // namespace apportion
