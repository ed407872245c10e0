// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/block_flow.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace apportion {

namespace {
constexpr std::size_t kBlocksInFlight = 1;
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

BlockFlow::BlockFlow(const LoadDescription& load, Policy& policy, std::span<const Block> previous)
    : load_(load), policy_(policy), lanes_(load.processors.size()) {
    assert(load.units >= 0 && load.granularity >= 1 && !load.processors.empty());
    Units covered = 0;
    for (const Block& block : previous) covered += block.units;
    if (covered == load.units) {
        for (const Block& block : previous) add_free(block.first, block.units, block.processor);
    } else if (load.units > 0) {
        add_free(0, load.units, -1);
    }
    policy_.begin(load_);
}

void BlockFlow::add_free(Units first, Units units, int owner) {
    remaining_ += units;
    auto next = free_.lower_bound(first);
    if (next != free_.begin()) {
        auto before = std::prev(next);
        if (before->first + before->second.units == first && before->second.owner == owner) {
            first = before->first;
            units += before->second.units;
            free_.erase(before);
        }
    }
    if (next != free_.end() && first + units == next->first && next->second.owner == owner) {
        units += next->second.units;
        free_.erase(next);
    }
    free_[first] = {units, owner};
}

BlockFlow::FreeRanges::iterator BlockFlow::choose_range(int processor) {
    auto best = free_.end();
    auto rank = [processor](int owner) { return owner == processor ? 0 : owner < 0 ? 1 : 2; };
    for (auto it = free_.begin(); it != free_.end(); ++it) {
        if (it->second.owner == processor) return it;
        if (best == free_.end() || rank(it->second.owner) < rank(best->second.owner) ||
            (rank(it->second.owner) == 2 && rank(best->second.owner) == 2 && it->second.units > best->second.units))
            best = it;
    }
    return best;
}

Block BlockFlow::hand_out(int processor, Units units, double now_s) {
    const Block block = remaining_ > 0 ? hand_out_free(processor, units) : hand_out_copy(processor, units);
    lanes_[processor].blocks.push_back({block.id, block.first, block.units, now_s});
    lane_of_[block.id] = processor;
    return block;
}

Block BlockFlow::hand_out_copy(int processor, Units units) {
    const LateBlocks::Range range = late_.take(next_id_, units);
    return {next_id_++, processor, range.first, range.units};
}

Block BlockFlow::hand_out_free(int processor, Units units) {
    auto range = choose_range(processor);
    assert(range != free_.end() && units > 0);
    const int owner = range->second.owner;
    Block block{next_id_++, processor, range->first, 0};
    if (owner >= 0 && owner != processor && range->second.units > units) {
        // Take another processor's units from the end: it goes on from the beginning. Keep the granules whole.
        Units tail = (units + load_.granularity - 1) / load_.granularity * load_.granularity;
        Units rest = range->second.units % load_.granularity;
        if (rest != 0) tail = std::min(range->second.units, tail - load_.granularity + rest);
        if (tail <= 0) tail = std::min(range->second.units, units);
        block.first = range->first + range->second.units - tail;
        block.units = tail;
        range->second.units -= tail;
        if (range->second.units == 0) free_.erase(range);
    } else {
        // A range that is too small grows to the left first, by what the neighbour there, asked before, left of its
        // own: neighbours that trade some units from run to run keep their shares in one piece.
        if (owner == processor && range->second.units < units && range != free_.begin()) {
            const auto left = std::prev(range);
            if (left->first + left->second.units == range->first) {
                block.units = std::min(units - range->second.units, left->second.units);
                block.first -= block.units;
                left->second.units -= block.units;
                if (left->second.units == 0) free_.erase(left);
            }
        }
        while (range != free_.end() && block.units < units && range->first == block.first + block.units) {
            Units taken = std::min(units - block.units, range->second.units);
            FreeRange rest{range->second.units - taken, range->second.owner};
            range = free_.erase(range);
            block.units += taken;
            if (rest.units > 0) range = free_.emplace(block.first + block.units, rest).first;
        }
    }
    remaining_ -= block.units;
    return block;
}

std::span<const BlockInFlight> BlockFlow::in_flight(int processor) const { return lanes_[processor].blocks; }

Units BlockFlow::room(int processor) const {
    const Units limit = load_.processors[processor].memory_units;
    if (limit == kNoLimit) return kNoLimit;
    Units used = 0;
    for (const BlockInFlight& block : lanes_[processor].blocks) used += block.units;
    if (used == 0) return std::max(limit, load_.granularity);
    return limit > used ? (limit - used) / load_.granularity * load_.granularity : 0;
}

void BlockFlow::ask(int processor, std::size_t depth, double now_s, std::vector<Block>& out) {
    const Lane& lane = lanes_[processor];
    while (remaining() > 0 && answers(processor) && lane.blocks.size() < depth) {
        const Units room_units = room(processor);
        if (room_units < load_.granularity) break;
        Units units = policy_.next_block(processor, now_s, *this);
        if (units <= 0) break;
        units = std::min(units, room_units);
        if (units < remaining()) units = std::max(units / load_.granularity, Units{1}) * load_.granularity;
        out.push_back(hand_out(processor, units, now_s));
    }
}

bool BlockFlow::available(int processor) const {
    const bool may_copy = load_.processors[processor].own_memory || load_.copies_in_main_memory;
    return !late(processor) && (may_copy || remaining_ > 0 || late_.spare() == 0);
}

/// Whether it can be asked: available, and not busy with a copy in vain.
bool BlockFlow::answers(int processor) const {
    const Lane& lane = lanes_[processor];
    return !lane.fenced && lane.in_vain == 0 && available(processor);
}

std::size_t BlockFlow::depth(int processor) const {
    return load_.processors[processor].own_memory ? kBlocksInFlightOwnMemory : kBlocksInFlight;
}

void BlockFlow::ask_idle(double now_s, std::vector<Block>& out) {
    for (int p = 0; p < static_cast<int>(lanes_.size()) && remaining() > 0; ++p)
        if (lanes_[p].blocks.empty()) ask(p, 1, now_s, out);
    if (remaining_ > 0 && lane_of_.empty()) rescue_from_stall(now_s, out);
    const bool only_late_ones = lane_of_.size() == late_.count();
    if (remaining_ == 0 && late_.spare() > 0 && (only_late_ones || !policy_.plans_copies())) share_copies(now_s, out);
}

void BlockFlow::rescue_from_stall(double now_s, std::vector<Block>& out) {
    for (int p = 0; p < static_cast<int>(lanes_.size()); ++p) {
        if (!answers(p)) continue;
        ++stalls_;
        Units units = std::min({std::max(load_.initial_block, load_.granularity), remaining_, room(p)});
        out.push_back(hand_out(p, units, now_s));
        return;
    }
}

/// Spare units in proportion to the speeds of all who may compute them, to those who are idle now.
void BlockFlow::share_copies(double now_s, std::vector<Block>& out) {
    double speeds = 0;
    int fastest = -1;
    for (int p = 0; p < static_cast<int>(lanes_.size()); ++p) {
        if (!answers(p)) continue;
        speeds += lanes_[p].speed;
        if (lanes_[p].blocks.empty() && (fastest < 0 || lanes_[p].speed > lanes_[fastest].speed)) fastest = p;
    }
    if (fastest < 0) return;
    const auto give = [&](int p, double units) {
        const Units granules = std::min(round_to_granularity(units, load_.granularity), room(p)) / load_.granularity;
        if (late_.spare() > 0) out.push_back(hand_out(p, std::max<Units>(1, granules) * load_.granularity, now_s));
    };
    const double spare = static_cast<double>(late_.spare()), least = static_cast<double>(load_.granularity) / 2;
    for (int p = 0; p < static_cast<int>(lanes_.size()); ++p) {
        const double part = speeds > 0 ? spare * lanes_[p].speed / speeds : 0;
        if (part >= least && answers(p) && lanes_[p].blocks.empty()) give(p, part);
    }
    if (lane_of_.size() == late_.count()) give(fastest, spare);  // nobody has a part
}

std::vector<Block> BlockFlow::start(double now_s) { return ask_all(now_s); }

std::vector<Block> BlockFlow::ask_all(double now_s) {
    // One block each before anyone's second: the first to be asked must not take what others could start with.
    std::vector<Block> out;
    ask_idle(now_s, out);
    for (int p = 0; p < static_cast<int>(lanes_.size()) && remaining() > 0; ++p) ask(p, depth(p), now_s, out);
    return out;
}

BlockInFlight BlockFlow::take_out(std::int64_t id, int& processor) {
    auto lane_it = lane_of_.find(id);
    assert(lane_it != lane_of_.end());
    processor = lane_it->second;
    lane_of_.erase(lane_it);
    auto& blocks = lanes_[processor].blocks;
    auto it = std::find_if(blocks.begin(), blocks.end(), [id](const BlockInFlight& b) { return b.id == id; });
    assert(it != blocks.end());
    BlockInFlight block = *it;
    blocks.erase(it);
    return block;
}

std::vector<Block> BlockFlow::finished(std::int64_t id, double start_s, double end_s, double busy_s, double now_s) {
    int processor = 0;
    BlockInFlight block = take_out(id, processor);
    Lane& lane = lanes_[processor];
    if (late_.contains(id)) {
        --lane.late;
        for (const std::int64_t copy : late_.ended(id)) supersede(copy, &Lane::in_vain);
    } else if (late_.is_copy(id)) {
        if (const auto late = late_.computed(id)) {
            --lanes_[lane_of_.at(*late)].late;
            supersede(*late, &Lane::beaten);
        }
    }
    const double seconds = end_s - std::max(block.given_s, lane.last_end_s);
    if (seconds > 0) lane.speed = static_cast<double>(block.units) / seconds;
    FinishedBlock record{id,      processor, block.first, block.units, block.given_s, lane.last_end_s,
                         start_s, end_s,     busy_s};
    lane.last_end_s = std::max(lane.last_end_s, end_s);
    policy_.block_finished(record);
    std::vector<Block> out;
    ask(processor, depth(processor), now_s, out);
    if (remaining_ + late_.spare() > 0) ask_idle(now_s, out);
    return out;
}

bool BlockFlow::mark_late(std::int64_t id) {
    if (late_.contains(id) || late_.is_copy(id)) return false;
    Lane& lane = lanes_[lane_of_.at(id)];
    const auto block = std::ranges::find(lane.blocks, id, &BlockInFlight::id);
    late_.add(id, {block->first, block->units});
    ++lane.late;
    return true;
}

/// Others have computed the units of this block.
void BlockFlow::supersede(std::int64_t id, int Lane::*still_computes) {
    superseded_.push_back(id);
    if (lane_of_.count(id) == 0) return;
    int processor = 0;
    take_out(id, processor);
    running_in_vain_[id] = &(lanes_[processor].*still_computes);
    ++*running_in_vain_[id];
}

void BlockFlow::superseded_ended(std::int64_t id) { --*running_in_vain_.extract(id).mapped(); }

void BlockFlow::give_back(std::int64_t id) {
    int processor = 0;
    const BlockInFlight block = take_out(id, processor);
    if (late_.contains(id)) {
        --lanes_[processor].late;
        for (const LateBlocks::Range& range : late_.release(id)) add_free(range.first, range.units, -1);
    } else if (late_.is_copy(id)) {
        late_.give_back(id);
    } else {
        add_free(block.first, block.units, -1);
    }
}

void BlockFlow::fence(int processor) {
    if (lanes_[processor].fenced) return;
    lanes_[processor].fenced = true;
    policy_.processor_lost(processor);
}

bool BlockFlow::done() const { return remaining_ == 0 && lane_of_.empty(); }

}  // namespace apportion
