// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When a block is late, and when it is given up: the rule that BlockFlow carries out.
//
//  1. A block should take at most what the last blocks of its processor in this run tell, and before the first of them
//     ends the last one of each size; from when its task begins, or a node is given it; no time where nothing is known.
//     It is overdue since it exceeded that by more than any block before it did; late when it has run twice as long,
//     and then overdue since it should have ended. It is thought to end when it has been overdue for as long again.
//  2. When nothing is left to hand out and somebody has nothing to do, a node that is overdue, or that needs longer at
//     best for what it has than the others at worst, gives back what it has not begun, but for a granule of the grant
//     that it is at, and gets no other until that has ended. Whoever has nothing to do computes again all that a
//     processor has, if the others end it in as long as its block is overdue (not in open loads, nor of nodes); and of
//     late blocks as many units as it ends before they are thought to end. Nobody takes more than it ends at its best
//     in as long as the whole block should have taken by all that is known of its processor, but a granule as soon as
//     that would end in time if it were as many times dearer as any block was. Those first that are thought to end
//     last.
//  3. What ends first counts, the block or all of its units computed again. Then it is taken over, and its processor
//     gets no more in this run; in an open load, which may last for ever, until it has ended. One that waited behind
//     another, which goes on, is taken over alone.
//  4. When somebody has nothing to do, and all that run have run APPORTION_STALL_FACTOR times as long as they would if
//     they exceeded what they should by as much as any block did, and as 1.5 s, their processors are lost, and their
//     units are handed out again. The last processor that is left is waited for, however long it takes.
//
// What a policy calls a trial needs no judgement: it is of the last units, which stay free where others may compute
// them. Whoever is given them ends it, and its processor gets nothing until its task has ended. So to try a processor
// that may be far too slow costs others no launch in the end. Where nothing else is left and the policy gives them to
// nobody who is idle, it is a block as others.
//
// Blocks that change data in place, or whose late results nobody can hold back, are computed by nobody else. A core's
// first block of the smallest size is: its task gets a copy of the data if there is memory for one, unless that is much
// of a load whose processors are all alike, where the copy would cost what it could save. While a processor that was
// lost still computes such a block, no load of the process gives it another one. Plans hand out what they keep for a
// processor as soon as it is late and another has nothing to do; policies whose rounds end together, as published, only
// once it stalls.
//
// That does little harm: who computes again has nothing else to do and knows how long it takes; of a block that is
// overdue by some time nothing else is known, so that what takes at most as long is no worse than waiting; and how far
// noise makes healthy blocks exceed what the last few admit, blocks before them tell. *Twice*, because who waits as
// long as a thing should take pays at most twice the best; from then on parts of a block are worth computing, which are
// in vain if it ends before all others. *The whole block should have taken*, because it may be late as its units are
// dear: then they are as dear to others. Where the data of nodes live, results of others cannot come to where units are
// still computed in vain: what is not begun of these is dropped at once.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "models/speed_points.hpp"
#include "policies/policy.hpp"

namespace apportion {

/// How long a processor's blocks take at most, and at least, by the last few (TimeBounds).
class Pace {
  public:
    /// Remembers the last blocks, or the last one of each size (up to a power of two).
    explicit Pace(bool of_each_size = false) : of_each_size_(of_each_size) {}

    /// A block of `units` >= 1 took `seconds` >= 0.
    void add(Units units, double seconds);
    bool known() const { return !samples_.empty(); }
    /// Seconds that `units` should take at most; infinite while nothing is known.
    double at_most_s(Units units) const { return bounds_by(samples_, static_cast<double>(units)).most_s; }
    /// Seconds that `units` should take at least; 0 while nothing is known.
    double at_least_s(Units units) const { return bounds_by(samples_, static_cast<double>(units)).least_s; }
    /// The most units that should take no longer than that; 0: none.
    Units within(double seconds) const;

  private:
    bool of_each_size_;
    std::deque<BlockTime> samples_;
};

class Recovery {
  public:
    /// factor >= 1, of APPORTION_STALL_FACTOR.
    Recovery(double factor, std::size_t processors) : factor_(factor), processors_(processors) {}

    /// A run begins. Until the first block of a processor ends in it, what is known of each size counts: its last
    /// blocks may have been far smaller than the next one.
    void begin_run();
    /// A block ran that long, and took that long with its transfer.
    void finished(int processor, Units units, double kernel_s, double total_s);

    /// What was recorded of the processors before; nothing of those without points, or when it is empty. Counts until
    /// they have finished a block themselves.
    void recorded(const std::vector<ProcessorProfile>& profiles);

    /// Whether anything is known of its times. (What others of its kind did tells nothing: cores of one kind for StarPU
    /// may be fast and slow ones.)
    bool known(int processor) const { return kernel(processor).known(); }
    /// Whether it has finished a block.
    bool measured(int processor) const { return its(processor).measured; }

    /// Seconds that the task of such a block should run at most, by its last blocks; 0: nothing is known.
    double should_run_s(int processor, Units units) const {
        return known(processor) ? kernel(processor).at_most_s(units) : 0;
    }
    double at_least_s(int processor, Units units) const { return kernel(processor).at_least_s(units); }
    double late_after_s(int processor, Units units) const { return kLate * should_run_s(processor, units); }
    double overdue_after_s(int processor, Units units) const {
        return std::min(kLate, longest_) * should_run_s(processor, units);
    }
    /// Of who has finished no block (what is recorded may be of another problem) by who needs least for it.
    double stalled_after_s(int processor, Units units) const;
    /// What takes no time, such as an answer of a node, stalls after so many.
    double silence_s() const { return factor_ * kShortestStall_s; }

    /// What the processor itself needs for units that it computes again, with their transfer.
    const Pace& whole(int processor) const { return its(processor).whole; }
    /// How many times as long as it should a block took, at most.
    double longest() const { return longest_; }

  private:
    static constexpr double kLate = 2;
    static constexpr double kShortestStall_s = 1.5;  ///< times the factor: no thread of a busy machine waits so long

    struct Known {
        Pace latest{false};              ///< of kernels in this run
        Pace kernel{true}, whole{true};  ///< of each size
        bool measured = false;
    };
    const Pace& kernel(int processor) const {
        return its(processor).latest.known() ? its(processor).latest : its(processor).kernel;
    }
    const Known& its(int processor) const { return processors_[static_cast<std::size_t>(processor)]; }

    double factor_;
    double longest_ = 1;  ///< of all blocks, in multiples of what they should have taken at most
    std::vector<Known> processors_;
};

}  // namespace apportion
