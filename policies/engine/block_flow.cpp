// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/block_flow.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace apportion {

namespace {
constexpr std::size_t kBlocksInFlight = 1;
constexpr double kUntilItBegins_s = 1;               // between looks whether a block has begun that others wait for
constexpr std::size_t kBlocksInFlightOwnMemory = 2;  // one computes while the data of the other travel
}  // namespace

Units round_to_granularity(double units, Units granularity) {
    if (!(units > 0)) return granularity;
    double granules = std::round(units / static_cast<double>(granularity));
    constexpr double kLargest = 9e18;  // below 2^63
    if (granules * static_cast<double>(granularity) > kLargest) return kNoLimit / granularity * granularity;
    return std::max<Units>(1, static_cast<Units>(granules)) * granularity;
}

Units default_initial_block(Units units, Units granularity, int processors) {
    constexpr double kFirstBlocksPerShare = 64;
    return round_to_granularity(static_cast<double>(units) / (kFirstBlocksPerShare * processors), granularity);
}

BlockFlow::BlockFlow(const LoadDescription& load, Policy& policy, std::span<const Block> previous, Recovery* recovery)
    : load_(load), policy_(policy), recovery_(recovery), free_(load.processors.size()), lanes_(load.processors.size()) {
    assert(load.units >= 0 && load.granularity >= 1 && !load.processors.empty());
    Units covered = 0;
    for (const Block& block : previous) covered += block.units;
    if (covered == load.units) {
        for (const Block& block : previous) free_.add({block.first, block.units}, block.processor);
    } else if (load.units > 0) {
        free_.add({0, load.units}, FreeUnits::kNobody);
    }
    policy_.begin(load_);
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
    while (remaining() > 0 && !lane(processor).fenced && lane(processor).blocks.size() < depth) {
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
    // One block each before anyone's second: the first to be asked must not take what others could start with.
    std::vector<Block> out;
    ask_idle(now_s, out);
    for (int p = 0; p < processors() && remaining() > 0; ++p) ask(p, depth(p), now_s, out);
    compute_again(now_s, out);
    return out;
}

// --- Taking back ---

BlockFlow::Flight BlockFlow::take_out(std::int64_t id, BlockInFlight& block) {
    const Flight flight = flights_.extract(id).mapped();
    auto& blocks = lane(flight.processor).blocks;
    const auto it = std::ranges::find(blocks, id, &BlockInFlight::id);
    block = *it;
    blocks.erase(it);
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
        piece_computed(flight.piece_of, block.units, now_s);
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
void BlockFlow::piece_computed(std::int64_t late, Units units, double now_s) {
    const int processor = flights_.at(late).processor;
    const BlockInFlight block = *std::ranges::find(lane(processor).blocks, late, &BlockInFlight::id);
    Retake& retake = retakes_.at(late);
    if ((retake.computed += units) < block.units) return;
    decisions_.counted.insert(decisions_.counted.end(), retake.pieces.begin(), retake.pieces.end());
    retakes_.erase(late);
    BlockInFlight taken_over;
    take_out(late, taken_over);
    decisions_.given_up.push_back(late);
    lose(processor, block, now_s);
}

void BlockFlow::give_back(std::int64_t id) {
    BlockInFlight block;
    const Flight flight = take_out(id, block);
    drop_pieces(id);
    if (flight.piece_of != kNone) {
        // A gap in what was computed again: all of it is dropped, and perhaps begun once more.
        auto& pieces = retakes_.at(flight.piece_of).pieces;
        pieces.erase(std::ranges::find(pieces, id));
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

bool BlockFlow::anybody_left() const {
    return std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return !lane.fenced; });
}

// --- Recovery: the rule of recovery.hpp ---

void BlockFlow::begins(std::int64_t id, double now_s) {
    const auto flight = flights_.find(id);
    if (flight == flights_.end()) return;
    auto& blocks = lane(flight->second.processor).blocks;
    const auto block = std::ranges::find(blocks, id, &BlockInFlight::id);
    if (block->begun_s < 0) block->begun_s = now_s;
}

void BlockFlow::pauses(std::int64_t id) {
    const auto flight = flights_.find(id);
    if (flight == flights_.end()) return;
    auto& blocks = lane(flight->second.processor).blocks;
    std::ranges::find(blocks, id, &BlockInFlight::id)->begun_s = -1;
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

double BlockFlow::begun_s(int processor, const BlockInFlight& block) const {
    return std::max(block.begun_s, lane(processor).last_end_s);
}

bool BlockFlow::is_stalled(int processor, double now_s) const {
    const BlockInFlight* block = running(processor);
    return block && now_s >= begun_s(processor, *block) + recovery_->stalled_after_s(processor, block->units);
}

/// Whether somebody has nothing to do, and nobody computes anything but blocks that stall.
bool BlockFlow::all_others_wait(double now_s) const {
    bool somebody = false;
    for (int p = 0; p < processors(); ++p) {
        somebody = somebody || lane(p).idle();
        if (!lane(p).blocks.empty() && !is_stalled(p, now_s)) return false;
    }
    return somebody;
}

void BlockFlow::lose(int processor, const BlockInFlight& cause, double now_s) {
    decisions_.lost.push_back({processor, cause.id, now_s - begun_s(processor, cause)});
    const std::vector<BlockInFlight> blocks = lane(processor).blocks;
    for (const BlockInFlight& block : blocks) {
        decisions_.given_up.push_back(block.id);
        give_back(block.id);
    }
    fence(processor);
}

void BlockFlow::give_up_stalled(double now_s) {
    if (!all_others_wait(now_s)) return;
    for (int p = 0; p < processors(); ++p) {
        if (!is_stalled(p, now_s)) continue;
        const BlockInFlight block = *running(p);
        if (flights_.at(block.id).yields)
            lose(p, block, now_s);
        else if (recovery_->known(p))  // of others nobody knows how slow they are
            decisions_.stuck.push_back({p, block.id, now_s - begun_s(p, block)});
    }
}

void BlockFlow::compute_again(double now_s, std::vector<Block>& out) {
    if (!recovery_ || remaining() > 0) return;
    std::vector<int> able, late;
    for (int p = 0; p < processors(); ++p) {
        const BlockInFlight* block = running(p);
        const bool is_late = block && now_s >= begun_s(p, *block) + recovery_->late_after_s(p, block->units);
        if (is_late)
            late.push_back(p);
        else if (!lane(p).fenced)
            able.push_back(p);
    }
    for (const int p : late) {
        const BlockInFlight& first = *running(p);
        const double late_s = now_s - begun_s(p, first) - recovery_->should_run_s(p, first.units);
        // What waits behind it as well.
        for (const BlockInFlight& block : std::vector<BlockInFlight>(lane(p).blocks))
            if (flights_.at(block.id).yields && !flights_.at(block.id).again)
                share_out(block, late_s, able, now_s, out);
    }
}

/// Pieces of a block that is late by so much to those of the able that have nothing to do.
void BlockFlow::share_out(const BlockInFlight& late, double late_s, const std::vector<int>& able, double now_s,
                          std::vector<Block>& out) {
    const auto known = retakes_.find(late.id);
    const Units spare = late.units - (known == retakes_.end() ? 0 : known->second.taken);
    if (spare == 0) return;
    const double seconds = std::min(late_s, recovery_->together_s(able, spare) * (1 + 1e-9));
    double all = 0;
    for (const int p : able) all += static_cast<double>(recovery_->whole(p).within(seconds));
    for (const int p : able) {
        Retake& retake = retakes_[late.id];
        const Units left = late.units - retake.taken, within = recovery_->whole(p).within(seconds);
        if (left == 0) return;
        if (!lane(p).idle() || within < std::min(left, load_.granularity)) continue;
        // In proportion, but no more than it gets through in time; in whole granules, unless the block ends in none.
        const double part = static_cast<double>(within) * std::min(1.0, static_cast<double>(spare) / all);
        const double granules = std::ceil(part / static_cast<double>(load_.granularity));
        Units units = static_cast<Units>(granules) * load_.granularity;
        units = std::min({left, units, std::max(within, load_.granularity), room(p)});
        if (units < left) units = std::max<Units>(1, units / load_.granularity) * load_.granularity;
        retake.pieces.push_back(next_id_);
        out.push_back(hand_out(p, {late.first + retake.taken, std::min(units, left)}, late.id, now_s));
        retake.taken += std::min(units, left);
    }
}

std::vector<Block> BlockFlow::look(double now_s) {
    if (!recovery_) return {};
    give_up_stalled(now_s);
    // Units may be left because the policy keeps them for who is late: now it can tell.
    return ask_all(now_s);
}

std::vector<std::int64_t> BlockFlow::stalled_blocks(double now_s) const {
    std::vector<std::int64_t> blocks;
    for (int p = 0; recovery_ && p < processors(); ++p)
        if (is_stalled(p, now_s))
            for (const BlockInFlight& block : lane(p).blocks) blocks.push_back(block.id);
    return blocks;
}

double BlockFlow::next_stall_s(double now_s) const {
    double next_s = std::numeric_limits<double>::infinity();
    for (int p = 0; recovery_ && p < processors(); ++p) {
        const BlockInFlight* block = running(p);
        if (block && !is_stalled(p, now_s))
            next_s = std::min(next_s, begun_s(p, *block) + recovery_->stalled_after_s(p, block->units));
        else if (!block && !lane(p).blocks.empty())
            next_s = std::min(next_s, now_s + kUntilItBegins_s);
    }
    return next_s;
}

double BlockFlow::next_look_s(double now_s) const {
    double next_s = std::numeric_limits<double>::infinity();
    double again_s = next_s;  // for the smallest piece, of who could compute it
    bool somebody = false;
    for (int p = 0; recovery_ && p < processors(); ++p) {
        if (!lane(p).idle()) continue;
        somebody = true;
        again_s = std::min(again_s, recovery_->whole(p).at_most_s(load_.granularity));
    }
    for (int p = 0; somebody && p < processors(); ++p) {
        const BlockInFlight* block = running(p);
        if (!block) {
            if (!lane(p).blocks.empty()) next_s = std::min(next_s, now_s + kUntilItBegins_s);
            continue;
        }
        const double begun = begun_s(p, *block), should_s = recovery_->should_run_s(p, block->units);
        const Flight& flight = flights_.at(block->id);
        const auto retake = retakes_.find(block->id);
        const bool spare = retake == retakes_.end() || retake->second.taken < block->units;
        const double late_s = begun + std::max(recovery_->late_after_s(p, block->units), should_s + again_s);
        const double stalled_s = begun + recovery_->stalled_after_s(p, block->units);
        if (flight.yields && !flight.again && spare && late_s > now_s) next_s = std::min(next_s, late_s);
        if (stalled_s > now_s) next_s = std::min(next_s, stalled_s);
    }
    return next_s;
}

}  // namespace apportion
