// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pull-driven flow of a load's blocks: which processor gets which range of units when. Owns the set of units not
// handed out and the blocks in flight, asks the policy, cuts its answers to what is left, to the granularity and to the
// memory of the processor, and carries out the rule of recovery.hpp. The load engine runs it under StarPU, the tests on
// a fake platform: both see the same rules and the same decisions.
//
// Law: every unit counts exactly once. It is handed out once, unless its block is given back, or was a trial that had
// not ended, and then once more; or others compute its block again, and then perhaps once more in a piece of it: of the
// two, one counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "policies/engine/device_memory.hpp"
#include "policies/engine/free_units.hpp"
#include "policies/engine/recovery.hpp"
#include "policies/policy.hpp"

namespace apportion {

/// A block to run now.
struct Block {
    std::int64_t id = 0;
    int processor = 0;
    Units first = 0;
    Units units = 0;
    std::int64_t again_of = -1;  ///< of what block it is a piece, whose results wait for the flow's decision
    bool apart = false;  ///< the smallest block there is, of a core of which nothing is known: that may take long, so
                         ///< that its tasks get copies of the data, where there is memory for them
    Units room = 0;      ///< units of its device's memory that it takes (DeviceMemory)
};

/// What the flow has decided on blocks, for its caller, which runs them.
struct Decisions {
    std::vector<std::int64_t> given_up;  ///< do not count, whether they end or not; their processor gets nothing more
    std::vector<int> lost;               ///< of these processors those that stall, or are slower than they were
    std::vector<std::int64_t> counted;   ///< pieces, all finished, of a block that was taken over
    std::vector<std::int64_t> dropped;   ///< pieces, finished or in flight, that do not count
    /// Of grants: what their node has not begun of these units, with which they end, see withdrawn().
    std::vector<std::pair<std::int64_t, UnitRange>> wanted;
};

/// What a load's processors are. To nodes the input of a block travels through a network that others need, too: its
/// time counts from when it is given, not from when its task begins, which waits for the runtime as well. Node 0
/// computes in place, and what it has begun to compute again for nothing is waited for.
enum class Among { workers, nodes };

class BlockFlow final : public Progress {
  public:
    /// Begins the load. A processor has at most one block in flight, or two where it has its own memory. `owned`
    /// lists the blocks of an earlier run, for policies that do not say whose units are whose: a processor takes its
    /// own before others, from the lowest on, so that equal sizes give equal blocks and data can stay where they are.
    /// Without `recovery` every block is waited for. An open load begins without units.
    BlockFlow(const LoadDescription& load, Policy& policy, std::vector<OwnedUnits> owned = {},
              Recovery* recovery = nullptr, Among among = Among::workers);

    /// The task of a block in flight runs since then (negative: none does), and its results can be dropped although it
    /// runs on.
    void begins(std::int64_t id, double begun_s);
    void may_be_taken_over(std::int64_t id);
    /// Nobody has memory to compute that block again.
    void leave_alone(std::int64_t id) {
        if (const auto its = flights_.find(id); its != flights_.end()) its->second.alone = true;
    }
    /// Whether the processor still computes something for nobody, of this load or another one: until that has ended it
    /// gets nothing. Where that is soon, those for whom nothing is planned wait for it.
    void set_occupied(int processor, bool is, bool soon_free = false);
    bool occupied(int processor) const { return lane(processor).occupied; }
    /// Nobody knows for how long: the policy plans without it. False: not so, as there is nobody else.
    bool do_without(int processor);

    /// Reports a finished block (units, first, processor, given_s and previous_end_s are filled in here).
    void note_finished(std::int64_t id, double start_s, double end_s, double busy_s, double now_s,
                       double half_busy_s = 0, bool data_there = false);
    /// The blocks to start now, when all is reported that has finished: so one plan answers for all of these.
    std::vector<Block> ask_freed(double now_s);
    /// Of one block: both.
    std::vector<Block> finished(std::int64_t id, double start_s, double end_s, double busy_s, double now_s,
                                double half_busy_s = 0, bool data_there = false) {
        note_finished(id, start_s, end_s, busy_s, now_s, half_busy_s, data_there);
        return ask_freed(now_s);
    }

    /// The results of a block in flight, which is about to be reported as finished, go home.
    void goes_home(std::int64_t id) { lane(flights_.at(id).processor).memory.goes_home(id); }
    /// The results of a finished block, whose kernel ended at `end_s`, are home. Returns whether its processor waited
    /// for the room: ask_freed() asks it now.
    bool returned(std::int64_t id, int processor, Units units, double end_s, double home_s);

    /// Gives the units of a block back, because it was not computed, if it is in flight; no processor is asked.
    bool give_back(std::int64_t id);

    /// A node computes only these first units of a grant: what it had not begun is free again, for all, or counts
    /// already where it computed that again.
    std::vector<Block> withdrawn(std::int64_t id, Units kept, double now_s);

    /// The processor gets no more blocks; its blocks in flight stay until they finish or are given back.
    void fence(int processor);

    /// Asks every processor: at the beginning, and after give_back or fence.
    std::vector<Block> ask_all(double now_s);

    /// Units of an open load are there, none of which was before. Returns the blocks to start now.
    std::vector<Block> add(UnitRange range, double now_s);

    /// Takes back the units with which the range ends, as far as they are not handed out; returns how many.
    Units withdraw(UnitRange range) { return free_.withdraw(range); }

    /// Looks for late and stalled blocks, and returns the blocks to start now. When the load has ended with an error,
    /// nothing is computed again, and blocks that stall are given up.
    std::vector<Block> look(double now_s, bool ended = false);
    /// When to look next, if nothing happens and no block begins before; infinite: no need.
    double next_look_s(double now_s) const;
    /// From when on nothing is computed but blocks that stall, if nothing happens before.
    double silent_at_s() const;

    /// What was decided since this was asked last.
    Decisions take_decisions() { return std::exchange(decisions_, {}); }

    /// All units (that are there) are handed out, and all blocks finished, given up, or pieces that do not count.
    bool done() const;

    Units remaining() const override { return free_.count(); }
    std::span<const BlockInFlight> in_flight(int processor) const override { return lane(processor).blocks; }
    Units room(int processor) const override;
    NextUnits next_units(int processor) const override;
    bool is_late(int processor, double now_s) const override;

    /// Where nobody else is, who still computes what was taken over is not waited for: that may never end.
    bool anybody_left() const {
        return std::ranges::any_of(lanes_, [](const Lane& its) { return !its.fenced && !its.taken_over; });
    }
    /// Units are left to those alone who are occupied.
    bool waits_for_occupied() const;
    int stalls() const { return stalls_; }  ///< times a policy gave no block while none was in flight

  private:
    struct Lane {
        std::vector<BlockInFlight> blocks;
        std::size_t depth = 1;  ///< blocks in flight, at most
        bool from_end = false;  ///< of the load, its units are
        double last_end_s = 0, last_home_s = 0;
        DeviceMemory memory;
        bool waits_for_room = false;
        bool fenced = false;    ///< gets nothing more
        bool occupied = false;  ///< gets nothing now
        bool soon_free = false;
        bool taken_over = false;  ///< what it computes, in an open load
        bool lost = false;        ///< the policy was told so

        bool takes_blocks() const { return !fenced && !occupied; }
        bool idle() const { return blocks.empty() && takes_blocks(); }
        /// What it computes, as far as is known, if it computes something.
        const BlockInFlight& running() const { return blocks.front(); }
    };
    struct Flight {
        int processor = 0;
        std::int64_t piece_of = kNone;  ///< the block that it is a piece of, which waits for it
        bool yields = false, apart = false;
        bool alone = false;  ///< no piece of it is computed again
        /// Whether all units of a grant are; if its node was asked, the grant's time counts since then.
        enum class Begun { perhaps, asked, all } begun = Begun::all;
        std::optional<double> since_s = {};
        // Of a block whose units are computed again, from the first on:
        Units taken = 0, computed = 0;
        std::vector<std::int64_t> pieces = {};
    };
    /// A trial of the last units. Those of one that may be taken over are free all the same: whoever takes them ends
    /// it.
    struct Trial {
        std::int64_t id = 0;
        UnitRange range;
        bool free = false;
    };
    static constexpr std::int64_t kNone = -1, kInVain = -2;

    Lane& lane(int processor) { return lanes_[static_cast<std::size_t>(processor)]; }
    const Lane& lane(int processor) const { return lanes_[static_cast<std::size_t>(processor)]; }
    int processors() const { return static_cast<int>(lanes_.size()); }
    Block hand_out(int processor, UnitRange range, std::int64_t piece_of, double now_s);
    UnitRange take(int processor, Units units);
    Units before_trials() const;
    const Trial* free_trial(std::int64_t id) const;
    void end_trials(UnitRange range);
    void keep_trials();
    bool computes_apart(int processor, Units units) const;
    void ask(int processor, std::size_t depth, double now_s, std::vector<Block>& out);
    void ask_idle(double now_s, std::vector<Block>& out);
    BlockInFlight* find(std::int64_t id);
    std::pair<Flight, BlockInFlight> take_out(std::int64_t id);
    void piece_computed(std::int64_t late, Units units, double now_s);
    void drop_pieces(Flight& late);

    // The rule of recovery.hpp.
    /// How late a block is whose time counts since it has its processor for itself.
    struct Lateness {
        double begun_s;
        double should_s, overdue_after_s, late_after_s;  ///< what it takes at most; it is so when it has run so long
        double ever_s;  ///< what it takes at most by all that is known, with its transfer

        double ran_s(double now_s) const { return now_s - begun_s; }
        bool late(double now_s) const { return now_s >= begun_s + late_after_s; }
        /// By how much it is; below 0: it is not.
        double overdue_s(double now_s) const { return ran_s(now_s) - (late(now_s) ? should_s : overdue_after_s); }
    };
    /// Of what the processor computes; none, if it does not, or all is waited for.
    std::optional<Lateness> lateness(int processor) const;
    bool others_end_it_sooner(int processor, const Lateness& its, double now_s) const;
    void want_back(int processor, const Lateness& late);
    void take_blocks_of(int processor);
    bool has(int processor, Flight::Begun begun) const;
    double rest_s(int processor, const Lateness& late, double now_s) const;
    double granules_left(const BlockInFlight& block) const;
    double granules_left(int processor) const;
    double all_end_within(double seconds, double now_s) const;
    bool can_be_lost(int processor) const;
    double smallest_piece_s() const;
    /// Where nothing more comes, and the caller tells the next run who is occupied.
    bool not_only_late() const { return !load_.open && occupied_is_told_; }
    void compute_again(double now_s, std::vector<Block>& out);
    Units ends_within(int processor, double seconds, double now_s) const;
    void share_out(const BlockInFlight& late, double within_s, double now_s, std::vector<Block>& out);

    LoadDescription load_;
    Policy& policy_;
    Recovery* recovery_;
    Among among_;
    FreeUnits free_;
    Decisions decisions_;
    std::vector<Lane> lanes_;
    std::vector<int> freed_;                            ///< processors whose blocks have finished since they were asked
    std::unordered_map<std::int64_t, Flight> flights_;  ///< blocks in flight
    std::vector<Trial> trials_;                         ///< of these
    std::int64_t next_id_ = 0;
    int stalls_ = 0;
    bool occupied_is_told_ = false;  ///< by the caller
};

}  // namespace apportion
