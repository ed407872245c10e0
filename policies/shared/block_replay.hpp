// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Repeats the blocks of the best run that a load has had. A load that runs again is planned anew while that makes it
// clearly faster; from then on it computes the same blocks on the same processors as in its best run, while that takes
// as long as it did: else times vary, and a plan that sees how they do is the better one, until one is clearly
// shorter. Where data stay on the devices, the run before is repeated, whose data are in place. Of an open load no run
// is the best.
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
    /// The run that ended: is it the best one? `taught`: a processor computed for the first time in it, so that its
    /// plan could not know better, and the next one may.
    void conclude(const LoadDescription& load, bool taught);

    /// Seconds of the best run; 0: none is known, or it cannot be repeated.
    double best_s() const { return reproducible_ ? best_s_ : 0; }
    /// Units per processor in the best run, and those of its blocks.
    std::vector<double> best_units() const;
    std::vector<Units> best_blocks(int processor) const;
    /// Whether the last plan made the load no faster, or promised too little to be tried: another one hardly will.
    bool settled() const { return settled_; }

    /// When each processor was done in the run that ended, and whether that run had no blocks but those it repeated.
    std::vector<double> ends_s() const;
    bool repeated_to_the_end() const { return active_; }
    /// Seconds of the run that ended, if it began as a repetition and did not end as one; else 0.
    double broken_s() const { return broken_s_; }

    /// A run begins; `repeat`: with the blocks of the best one.
    void begin(const LoadDescription& load, bool repeat);
    /// A run begins with other shares, and so do all that repeat it. Who gets nothing `anew` keeps its blocks; what
    /// others get is in as few pieces as may be, devices' first, each of at most `largest` units.
    void begin(const LoadDescription& load, std::span<const Units> shares, std::span<const Units> largest,
               const std::vector<bool>& anew);

    /// The blocks that are repeated, by ascending units; empty: this run is no repetition.
    std::vector<OwnedUnits> repeated() const;

    /// Units of the processor's next block (0: nothing now), or nothing when the run is not, or no longer, a
    /// repetition.
    std::optional<Units> next(int processor, const Progress& progress);

    void finished(const FinishedBlock& block);
    /// The results of the processor's next finished block are home, so many seconds after its end.
    void returned(int processor, double seconds);

    /// The longest that a block of that size took on the processor in the best run; 0: there was none.
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
        std::map<Units, Block> ran;   ///< blocks of this run by their first unit
        std::map<Units, Block> best;  ///< of the best run
        std::deque<Units> planned;    ///< blocks to repeat
        Units computed = 0;
        Units asked = 0;              ///< units of the blocks repeated so far
        double end_s = 0;             ///< the last results are home
        std::deque<double> ends_s{};  ///< of blocks whose results are not
    };
    void plan_missing(const Progress& progress);
    void forget();
    std::vector<OwnedUnits> blocks_of_best() const;

    std::vector<Lane> lanes_;
    double end_s_ = 0;     ///< of this run
    double broken_s_ = 0;  ///< of the last one
    double best_s_ = 0;
    bool reproducible_ = true;  ///< no repetition took longer
    bool settled_ = false;
    bool repeated_ = false;  ///< this run began as a repetition
    bool active_ = false;
};

}  // namespace apportion
