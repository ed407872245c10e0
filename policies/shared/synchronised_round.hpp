// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One synchronised round: every processor works through a share of its own, in blocks that fit its memory, and waits
// for the others. What acosta and fpm-dynamic are made of.
#pragma once

#include <vector>

#include "policies/policy.hpp"

namespace apportion {

class SynchronisedRound {
  public:
    /// `shares` per processor, multiples of the granularity, of what is left of the load; the rest is for later rounds.
    /// A processor that was lost in the round before still is: a load begins with a round made anew.
    void begin(const LoadDescription& load, std::vector<Units> shares, Units remaining);

    /// The next block of its share; 0: nothing in this round. Units that a lost processor leaves go to those that are
    /// done with their own, in proportion to the shares.
    Units next(int processor, const Progress& progress);

    void finished(const FinishedBlock& block);
    void lost(int processor);

    /// All shares are handed out and computed, but for those of lost processors.
    bool over(const Progress& progress) const;

    /// Its share is computed, all of it.
    bool complete(int processor) const {
        const Lane& own = lane(processor);
        return own.share > 0 && own.done >= own.share;
    }
    Units units(int processor) const { return lane(processor).done; }  ///< computed in this round
    /// Seconds on these units, the transfers to the processor included: from the round's first hand-out to it.
    double seconds(int processor) const { return lane(processor).end_s - lane(processor).given_s; }

  private:
    struct Lane {
        Units share = 0;
        Units done = 0;
        Units memory = kNoLimit;
        double given_s = 0;
        double end_s = 0;
        bool lost = false;
    };
    const Lane& lane(int processor) const { return lanes_[static_cast<std::size_t>(processor)]; }
    Units left(int processor, const Progress& progress) const;
    Units part_of_abandoned(int processor, const Progress& progress) const;

    std::vector<Lane> lanes_;
    Units granularity_ = 1;
    Units later_ = 0;
    mutable int last_busy_ = 0;  ///< where over() begins to look
};

}  // namespace apportion
