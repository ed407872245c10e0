// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pull-driven flow of a load's blocks: who gets which range of units when. Owns the set of units not handed out and
// the blocks in flight, asks the policy, and cuts its answers to what is left, to the granularity and to the memory of
// the processor. The load engine runs it under StarPU, the tests on a fake platform: both see the same rules.
//
// Law: every unit is handed out exactly once, unless its block is given back, and then once more; or its block is late,
// and then perhaps once more as part of a copy (late_blocks.hpp): of the two, one counts.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "policies/late_blocks.hpp"
#include "policies/policy.hpp"

namespace apportion {

/// A block to run now.
struct Block {
    std::int64_t id = 0;
    int processor = 0;
    Units first = 0;
    Units units = 0;
};

class BlockFlow final : public Progress {
  public:
    /// Begins the load. A processor has at most one block in flight, or two where it has its own memory. `previous`
    /// lists the blocks of an earlier run: a processor takes units that it had then before it takes others, from the
    /// lowest on, so that equal sizes give equal blocks and data can stay where they are.
    BlockFlow(const LoadDescription& load, Policy& policy, std::span<const Block> previous = {});

    /// The blocks to start at the beginning.
    std::vector<Block> start(double now_s);

    /// Reports a finished block (units, first, processor, given_s and previous_end_s are filled in here) and returns
    /// the blocks to start now.
    std::vector<Block> finished(std::int64_t id, double start_s, double end_s, double busy_s, double now_s);

    /// Gives the units of a block back, because it was not computed; nobody is asked. Those of a late block that others
    /// compute already stay with them.
    void give_back(std::int64_t id);

    /// A block in flight is late: its processor gets nothing while it runs, and others may compute its units again when
    /// nothing else is left; nobody is asked yet. False, and nothing changes, if it is a copy or was late before.
    bool mark_late(std::int64_t id);

    /// Blocks that count no more since this was asked last, because others computed their units first: late blocks that
    /// still run, and copies, in flight or finished. The processor of one in flight gets nothing before it has ended.
    std::vector<std::int64_t> take_superseded() { return std::exchange(superseded_, {}); }
    void superseded_ended(std::int64_t id);

    /// The processor gets no more blocks; its blocks in flight stay until they finish or are given back.
    void fence(int processor);

    /// Asks every processor again: after give_back or fence.
    std::vector<Block> ask_all(double now_s);

    bool done() const;  ///< all units handed out and all blocks finished

    Units remaining() const override { return remaining_ + (policy_.plans_copies() ? late_.spare() : 0); }
    std::span<const BlockInFlight> in_flight(int processor) const override;
    Units room(int processor) const override;
    bool available(int processor) const override;

    /// Whether a block of the processor is late, or was until others had computed it.
    bool late(int processor) const { return lanes_[processor].late + lanes_[processor].beaten > 0; }
    Units unassigned() const { return remaining_; }  ///< units of no block
    Units spare() const { return late_.spare(); }    ///< units of late blocks that nobody computes again yet

    int stalls() const { return stalls_; }  ///< times a policy gave nobody anything while nothing was in flight

  private:
    struct Lane {
        std::vector<BlockInFlight> blocks;
        double last_end_s = 0;
        double speed = 0;  ///< of the last finished block, with its transfer [units/s]; 0: none
        int late = 0;      ///< of its blocks in flight
        int beaten = 0;    ///< late blocks that others were faster with and that it still computes
        int in_vain = 0;   ///< copies that it computes although the late block has ended
        bool fenced = false;
    };
    struct FreeRange {
        Units units;
        int owner;  ///< who had it in the previous run, or -1
    };
    using FreeRanges = std::map<Units, FreeRange>;  ///< first unit -> range, disjoint

    void add_free(Units first, Units units, int owner);
    FreeRanges::iterator choose_range(int processor);
    Block hand_out(int processor, Units units, double now_s);
    Block hand_out_free(int processor, Units units);
    Block hand_out_copy(int processor, Units units);
    bool answers(int processor) const;
    std::size_t depth(int processor) const;
    void ask(int processor, std::size_t depth, double now_s, std::vector<Block>& out);
    void ask_idle(double now_s, std::vector<Block>& out);
    void rescue_from_stall(double now_s, std::vector<Block>& out);
    void share_copies(double now_s, std::vector<Block>& out);
    void supersede(std::int64_t id, int Lane::*still_computes);
    BlockInFlight take_out(std::int64_t id, int& processor);

    LoadDescription load_;
    Policy& policy_;
    FreeRanges free_;
    Units remaining_ = 0;  ///< in free_
    LateBlocks late_;
    std::vector<std::int64_t> superseded_;
    std::unordered_map<std::int64_t, int*> running_in_vain_;  ///< superseded block -> where it is counted
    std::vector<Lane> lanes_;
    std::unordered_map<std::int64_t, int> lane_of_;  ///< id of a block in flight -> processor
    std::int64_t next_id_ = 0;
    int stalls_ = 0;
};

}  // namespace apportion
