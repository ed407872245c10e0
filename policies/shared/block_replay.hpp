// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Repeats the blocks of the run before of a load whose data stay on the devices: they are in place. Of an open load no
// run is repeated.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

class BlockReplay {
  public:
    /// The run that ended, which may be repeated if it computed the whole load.
    void conclude(const LoadDescription& load);

    /// Seconds of the run before; 0: it cannot be repeated.
    double before_s() const { return before_s_; }
    /// Units per processor in it, and those of its blocks.
    std::vector<double> units_before() const;
    std::vector<Units> blocks_before(int processor) const;

    /// When each processor was done in the run that ended, and whether that run had no blocks but those it repeated.
    std::vector<double> ends_s() const;
    bool repeated_to_the_end() const { return active_; }
    /// Seconds of the run that ended, if it began as a repetition and did not end as one; else 0.
    double broken_s() const { return broken_s_; }

    /// A run begins; `repeat`: with the blocks of the one before.
    void begin(const LoadDescription& load, bool repeat);
    /// A run begins with other shares, and so do all that repeat it. Who gets nothing `anew` keeps its blocks, and has
    /// others beside them for what its share is larger; what others get is in as few pieces as may be, devices' first,
    /// each of at most `largest` units.
    void begin(const LoadDescription& load, std::span<const Units> shares, std::span<const Units> largest,
               const std::vector<bool>& anew);

    /// A first run begins with these blocks of each processor, and so do all that repeat it. False: they are not the
    /// whole load, or do not fit its granularity.
    bool begin_with(const LoadDescription& load, const std::vector<std::vector<Units>>& blocks);

    /// The blocks that are repeated, by ascending units; empty: this run is no repetition.
    std::vector<OwnedUnits> repeated() const;

    /// Units of the processor's next block (0: nothing now), or nothing when the run is not, or no longer, a
    /// repetition.
    std::optional<Units> next(int processor, const Progress& progress);

    void finished(const FinishedBlock& block);
    void returned(const ReturnedBlock& block);

    /// The longest that a block of that size took on the processor in the run before; 0: there was none.
    double longest_s(int processor, Units units) const;

    /// A processor has changed.
    void stop() { active_ = false; }
    /// A processor is lost, for which there may be blocks, or whose own may come back.
    void lost(int processor) {
        const Lane& lane = lanes_[static_cast<std::size_t>(processor)];
        if (!lane.planned.empty() || lane.asked > lane.computed) stop();
    }
    bool active() const { return active_; }

  private:
    struct Block {
        Units units = 0;
        double busy_s = 0;
    };
    struct Lane {
        std::map<Units, Block> ran;     ///< blocks of this run by their first unit
        std::map<Units, Block> before;  ///< of the run before
        std::deque<Units> planned;      ///< blocks to repeat
        Units computed = 0;
        Units asked = 0;   ///< units of the blocks repeated so far
        double end_s = 0;  ///< the last results are home
    };
    void plan_missing(int processor, const Progress& progress);
    void forget();
    std::vector<OwnedUnits> all_blocks_before() const;

    std::vector<Lane> lanes_;
    double end_s_ = 0;     ///< of this run
    double broken_s_ = 0;  ///< of the last one
    double before_s_ = 0;
    bool repeated_ = false;  ///< this run began as a repetition
    bool active_ = false;
};

}  // namespace apportion
