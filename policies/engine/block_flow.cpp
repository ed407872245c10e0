// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/block_flow.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace apportion {

namespace {
constexpr std::size_t kBlocksInFlight = 1;
constexpr std::size_t kBlocksInFlightOwnMemory = 2;  // one computes while the data of the other travel
constexpr double kNever_s = std::numeric_limits<double>::infinity();
}  // namespace

BlockFlow::BlockFlow(const LoadDescription& load, Policy& policy, std::span<const Block> previous, Recovery* recovery)
    : load_(load), policy_(policy), recovery_(recovery), free_(load.processors.size()), lanes_(load.processors.size()) {
    assert(load.units >= 0 && load.granularity >= 1 && !load.processors.empty());
    policy_.begin(load_);
    std::vector<OwnedUnits> owned;
    for (const Block& block : previous) owned.push_back({block.processor, block.first, block.units});
    if (owned.empty()) owned = policy_.repeated();
    Units covered = 0;
    for (const OwnedUnits& range : owned) covered += range.units;
    if (load.open) {
        // Nothing is there yet.
    } else if (covered == load.units) {
        for (const OwnedUnits& range : owned) free_.add({range.first, range.units}, range.processor);
    } else if (load.units > 0) {
        free_.add({0, load.units}, FreeUnits::kNobody);
    }
}

// --- Handing out ---

Block BlockFlow::hand_out(int processor, UnitRange range, std::int64_t piece_of, double now_s) {
    const Block block{next_id_++, processor, range.first, range.units, piece_of};
    lane(processor).blocks.push_back({block.id, block.first, block.units, now_s});
    flights_[block.id] = {processor, piece_of, piece_of != kNone};
    return block;
}

std::span<const BlockInFlight> BlockFlow::in_flight(int processor) const { return lane(processor).blocks; }

Units BlockFlow::room(int processor) const {
    const Units limit = load_.processors[static_cast<std::size_t>(processor)].memory_units;
    if (limit == kNoLimit) return kNoLimit;
    Units used = 0;
    for (const BlockInFlight& block : lane(processor).blocks) used += block.units;
    if (used == 0) return std::max(limit, load_.granularity);
    return limit > used ? (limit - used) / load_.granularity * load_.granularity : 0;
}

std::size_t BlockFlow::depth(int processor) const {
    const bool own_memory = load_.processors[static_cast<std::size_t>(processor)].own_memory;
    return own_memory ? kBlocksInFlightOwnMemory : kBlocksInFlight;
}

void BlockFlow::ask(int processor, std::size_t depth, double now_s, std::vector<Block>& out) {
    const auto& blocks = lane(processor).blocks;
    for (const BlockInFlight& block : blocks)
        if (retakes_.contains(block.id)) return;  // it may be lost soon
    while (remaining() > 0 && !lane(processor).fenced && blocks.size() < depth) {
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
    if (remaining() > 0 && flights_.empty()) rescue_from_stall(now_s, out);
}

void BlockFlow::rescue_from_stall(double now_s, std::vector<Block>& out) {
    for (int p = 0; p < processors(); ++p) {
        if (lane(p).fenced) continue;
        ++stalls_;
        const Units units = std::min(std::max(load_.initial_block, load_.granularity), room(p));
        out.push_back(hand_out(p, free_.take(p, units, load_.granularity), kNone, now_s));
        return;
    }
}

std::vector<Block> BlockFlow::ask_all(double now_s) {
    // One block each before a second one: the first to be asked must not take what others could start with.
    std::vector<Block> out;
    ask_idle(now_s, out);
    for (int p = 0; p < processors() && remaining() > 0; ++p) ask(p, depth(p), now_s, out);
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

BlockFlow::Flight BlockFlow::take_out(std::int64_t id, BlockInFlight& block) {
    block = *find(id);
    const Flight flight = flights_.extract(id).mapped();
    std::erase_if(lane(flight.processor).blocks, [id](const BlockInFlight& its) { return its.id == id; });
    return flight;
}

std::vector<Block> BlockFlow::finished(std::int64_t id, double start_s, double end_s, double busy_s, double now_s) {
    BlockInFlight block;
    const Flight flight = take_out(id, block);
    Lane& its = lane(flight.processor);
    if (recovery_)
        recovery_->finished(flight.processor, block.units, end_s - start_s,
                            end_s - std::max(block.given_s, its.last_end_s));
    const FinishedBlock record{
        id, flight.processor, block.first, block.units, block.given_s, its.last_end_s, start_s, end_s, busy_s};
    its.last_end_s = std::max(its.last_end_s, end_s);
    if (!flight.again) {
        drop_pieces(id);
        policy_.block_finished(record);
    } else if (flight.piece_of != kNone) {
        piece_computed(flight.piece_of, block.units);
    }
    std::vector<Block> out;
    ask(flight.processor, depth(flight.processor), now_s, out);
    if (remaining() > 0) ask_idle(now_s, out);
    compute_again(now_s, out);
    return out;
}

/// A block has ended, by itself or as far as the flow is concerned: what others computed of it is not needed.
void BlockFlow::drop_pieces(std::int64_t late) {
    const auto retake = retakes_.find(late);
    if (retake == retakes_.end()) return;
    for (const std::int64_t piece : retake->second.pieces) {
        decisions_.dropped.push_back(piece);
        if (const auto flight = flights_.find(piece); flight != flights_.end()) flight->second.piece_of = kNone;
    }
    retakes_.erase(retake);
}

/// When it was the last one, the late block is taken over.
void BlockFlow::piece_computed(std::int64_t late, Units units) {
    Retake& retake = retakes_.at(late);
    if ((retake.computed += units) < find(late)->units) return;
    decisions_.counted.insert(decisions_.counted.end(), retake.pieces.begin(), retake.pieces.end());
    retakes_.erase(late);
    BlockInFlight taken_over;
    const int processor = take_out(late, taken_over).processor;
    decisions_.given_up.push_back(late);
    lose(processor);
}

void BlockFlow::give_back(std::int64_t id) {
    BlockInFlight block;
    const Flight flight = take_out(id, block);
    drop_pieces(id);
    if (flight.piece_of != kNone) {
        // A gap in what was computed again: all of it is dropped, and perhaps begun once more.
        std::erase(retakes_.at(flight.piece_of).pieces, id);
        drop_pieces(flight.piece_of);
    } else if (!flight.again) {
        free_.add({block.first, block.units}, FreeUnits::kNobody);
    }
}

void BlockFlow::fence(int processor) {
    if (lane(processor).fenced) return;
    lane(processor).fenced = true;
    policy_.processor_lost(processor);
}

bool BlockFlow::done() const { return remaining() == 0 && flights_.empty(); }

bool BlockFlow::anybody_left() const { return !std::ranges::all_of(lanes_, &Lane::fenced); }

// --- Recovery: the rule of recovery.hpp ---

void BlockFlow::begins(std::int64_t id, double now_s) {
    if (BlockInFlight* block = find(id); block && block->begun_s < 0) block->begun_s = now_s;
}

void BlockFlow::pauses(std::int64_t id) {
    if (BlockInFlight* block = find(id)) block->begun_s = -1;
}

void BlockFlow::stood_still(double seconds) {
    for (Lane& its : lanes_)
        for (BlockInFlight& block : its.blocks)
            if (block.begun_s >= 0) block.begun_s += seconds;
}

/// The block that the processor computes, as far as is known, or null.
const BlockInFlight* BlockFlow::running(int processor) const {
    const auto& blocks = lane(processor).blocks;
    return !blocks.empty() && blocks.front().begun_s >= 0 ? &blocks.front() : nullptr;
}

/// Since when its running block has the processor for itself.
double BlockFlow::begun_s(int processor) const {
    return std::max(running(processor)->begun_s, lane(processor).last_end_s);
}

/// When its running block is late, and when it stalls; infinite: nothing runs.
double BlockFlow::late_at_s(int processor) const {
    const BlockInFlight* block = running(processor);
    return block ? begun_s(processor) + recovery_->late_after_s(processor, block->units) : kNever_s;
}

double BlockFlow::stalls_at_s(int processor) const {
    const BlockInFlight* block = running(processor);
    return block ? begun_s(processor) + recovery_->stalled_after_s(processor, block->units) : kNever_s;
}

double BlockFlow::silent_at_s() const {
    double at_s = -kNever_s;
    for (int p = 0; p < processors(); ++p)
        if (running(p)) at_s = std::max(at_s, stalls_at_s(p));
    return at_s;
}

/// Whether a processor has nothing to do, and none computes anything but blocks that stall.
bool BlockFlow::all_others_wait(double now_s) const {
    return now_s >= silent_at_s() && std::ranges::any_of(lanes_, &Lane::idle);
}

/// It gets nothing more, and all its blocks are for others.
void BlockFlow::lose(int processor) {
    for (const BlockInFlight& block : std::vector<BlockInFlight>(lane(processor).blocks)) {
        decisions_.given_up.push_back(block.id);
        give_back(block.id);
    }
    fence(processor);
}

void BlockFlow::give_up_stalled(double now_s, bool ended) {
    if (!ended && !all_others_wait(now_s)) return;
    for (int p = 0; p < processors(); ++p) {
        // How slow a processor is that has finished no block is not known: its block is waited for, unless others may
        // compute it.
        if (now_s >= stalls_at_s(p) && (ended || recovery_->measured(p) || flights_.at(running(p)->id).yields)) lose(p);
    }
}

/// Whether the processor can be lost without harm.
bool BlockFlow::all_yield(int processor) const {
    return std::ranges::all_of(lane(processor).blocks, [&](const auto& block) { return flights_.at(block.id).yields; });
}

/// What of a late block is not computed again yet; 0: also where it may not be.
Units BlockFlow::not_shared_out(const BlockInFlight& late) const {
    const Flight& flight = flights_.at(late.id);
    if (!flight.yields || flight.again) return 0;
    const auto known = retakes_.find(late.id);
    return late.units - (known == retakes_.end() ? 0 : known->second.taken);
}

void BlockFlow::compute_again(double now_s, std::vector<Block>& out) {
    if (!recovery_ || remaining() > 0) return;
    std::vector<int> able, late;
    for (int p = 0; p < processors(); ++p) {
        const bool is_late = now_s >= late_at_s(p);
        if (is_late && all_yield(p))
            late.push_back(p);
        else if (!is_late && !lane(p).fenced)
            able.push_back(p);
    }
    for (const int p : late) {
        const double late_s = recovery_->late_by_s(p, running(p)->units, now_s - begun_s(p));
        // What waits behind it as well.
        for (const BlockInFlight& block : std::vector<BlockInFlight>(lane(p).blocks))
            if (not_shared_out(block) > 0) share_out(block, late_s, able, now_s, out);
    }
}

/// In how many seconds the processor should have nothing more to do.
double BlockFlow::free_in_s(int processor, double now_s) const {
    double seconds = 0;
    for (const BlockInFlight& block : lane(processor).blocks)
        seconds += recovery_->whole(processor).at_most_s(block.units);
    return running(processor) ? std::max(0.0, seconds - (now_s - begun_s(processor))) : seconds;
}

/// Pieces of a block that is late by so much to those of the able that have nothing to do.
void BlockFlow::share_out(const BlockInFlight& late, double late_s, const std::vector<int>& able, double now_s,
                          std::vector<Block>& out) {
    constexpr double kRounding = 1 + 1e-9;
    const Units spare = not_shared_out(late), granularity = load_.granularity;
    const auto has_time = [&](int p) {
        return lane(p).idle() && recovery_->whole(p).within(late_s) >= std::min(spare, granularity);
    };
    if (std::ranges::none_of(able, has_time)) return;
    std::vector<Recovery::Free> free;
    for (const int p : able) free.push_back({p, free_in_s(p, now_s)});
    const double seconds = std::min(late_s, recovery_->together_s(free, spare) * kRounding);
    double all = 0;
    for (const auto& [p, in_s] : free)
        if (seconds >= in_s) all += static_cast<double>(recovery_->whole(p).within(seconds - in_s));
    for (const int p : able) {
        const Units left = not_shared_out(late), within = recovery_->whole(p).within(seconds);
        const double part = static_cast<double>(spare) * static_cast<double>(within) / std::max(1.0, all);
        const auto granules = static_cast<Units>(std::ceil(part / static_cast<double>(granularity)));
        Units units = std::min({left, within, granules * granularity, room(p)});
        if (units < left) units = units / granularity * granularity;  // the load may end in no whole granule
        if (units == 0 || !lane(p).idle()) continue;
        Retake& retake = retakes_[late.id];
        retake.pieces.push_back(next_id_);
        out.push_back(hand_out(p, {late.first + retake.taken, units}, late.id, now_s));
        retake.taken += units;
    }
}

std::vector<Block> BlockFlow::look(double now_s, bool ended) {
    std::vector<Block> out;
    if (!recovery_) return out;
    give_up_stalled(now_s, ended);
    if (ended) return out;
    ask_idle(now_s, out);  // the policy may keep units for a late processor: now it can tell
    compute_again(now_s, out);
    return out;
}

double BlockFlow::next_look_s(double now_s, bool ended) const {
    if (!recovery_) return kNever_s;
    bool has_reason = ended;       // to look
    double smallest_s = kNever_s;  // piece, of those that could compute it
    for (int p = 0; p < processors() && !ended; ++p) {
        if (!lane(p).idle()) continue;
        has_reason = true;
        smallest_s = std::min(smallest_s, recovery_->whole(p).at_most_s(load_.granularity));
    }
    double next_s = kNever_s;
    if (has_reason && !ended && remaining() > 0) next_s = now_s + kUntilItBegins_s;  // it may be given something then
    for (int p = 0; has_reason && p < processors(); ++p) {
        const BlockInFlight* block = running(p);
        if (!block && !lane(p).blocks.empty()) next_s = std::min(next_s, now_s + kUntilItBegins_s);
        if (!block) continue;
        if (stalls_at_s(p) > now_s) next_s = std::min(next_s, stalls_at_s(p));
        const double again_s = begun_s(p) + recovery_->late_by_after_s(p, block->units, smallest_s);
        const double late_s = std::max(late_at_s(p), again_s);
        if (!ended && late_s > now_s && not_shared_out(*block) > 0) next_s = std::min(next_s, late_s);
    }
    return next_s;
}

}  // namespace apportion
