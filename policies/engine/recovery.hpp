// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When a block is late, and when it is given up. The whole rule, which BlockFlow carries out:
//
//     A block should take at most what the last blocks of its processor tell, counted from when its task begins. It is
//     late when it has run twice as long. When nothing is left to hand out, processors that have nothing to do compute
//     units of late blocks again, in parts that should end together and no later than in as long as the block is late
//     already. If the block ends first, they are dropped; if all its units are computed before, it is taken over, and
//     its processor gets nothing more in this run. When all others have nothing to do, a block that has run
//     APPORTION_STALL_FACTOR times as long as it should (and as 1.5 s) is given up: its units are handed out again.
//
// A processor that has finished no block is judged by what was recorded or learnt of it before. Where that is nothing,
// its first block may end at any time, and counts as late by the time that it has run: others compute it again once
// that takes them no longer. Nobody who has finished no block stalls by its own times, as these may be those of another
// problem, but by what all that have would need together.
//
// Only blocks whose stores cannot reach the result are taken over or given up. For all others the load waits, and if
// they stall, it ends with an error.
//
// Results in a device's memory come home through its driver. When the device stalls, nobody computes anything, and a
// block waits for such results, the load ends with an error as well, and waits for them no more.
//
// Why it does little harm: who computes again has nothing else to do and knows how long it takes; a block that is late
// by d is thought to need d more (nothing is known of it but that), so a piece that takes at most d is no worse than
// waiting; and noise makes healthy blocks late by a part of themselves, hardly ever to twice what the last few admit
// (RESULTS.md has what it costs on random machines). Why twice: who waits as long as a thing should take pays at most
// twice the best. (The idea is that of MapReduce's backup tasks, Dean and Ghemawat, OSDI 2004, section 3.6, and of
// rDLB, Mohammed, Cavelan, Ciorba, 2019.)
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// How long a processor's blocks take at most, by the last few. Assumed of a time function t(x) is only that neither it
/// nor the speed x / t(x) falls: then a block of x units bounds all others. y <= x units take at most t(x), y > x units
/// at most t(x) y / x, and the tightest bound counts.
class Pace {
  public:
    /// Remembers the last blocks, or the last one of each size (up to a power of two).
    explicit Pace(bool of_each_size = false) : of_each_size_(of_each_size) {}

    /// A block of `units` >= 1 took `seconds` >= 0.
    void add(Units units, double seconds);
    bool known() const { return !samples_.empty(); }
    /// Seconds that `units` should take at most; infinite while nothing is known.
    double at_most_s(Units units) const;
    /// The most units that should take no longer than that; 0: none.
    Units within(double seconds) const;

  private:
    struct Sample {
        double units = 0;
        double seconds = 0;
    };
    bool of_each_size_;
    std::deque<Sample> samples_;
};

class Recovery {
  public:
    /// factor >= 1, of APPORTION_STALL_FACTOR.
    Recovery(double factor, std::size_t processors);

    /// A block ran that long, and took that long with its transfer.
    void finished(int processor, Units units, double kernel_s, double total_s);

    /// What was recorded of the processors before; nothing of those without points, or when it is empty. Counts until
    /// they have finished a block themselves.
    void recorded(const std::vector<ProcessorProfile>& profiles);

    /// Whether anything is known of its times. (What others of its kind did tells nothing: cores of one kind for StarPU
    /// may be fast and slow ones.)
    bool known(int processor) const { return kernel_[static_cast<std::size_t>(processor)].known(); }
    /// Whether it has finished a block.
    bool measured(int processor) const { return measured_[static_cast<std::size_t>(processor)]; }
    /// Seconds that the task of such a block should run at most, by its last blocks; 0: nothing is known.
    double should_run_s(int processor, Units units) const;
    /// After how many seconds it is late, and after how many it stalls; infinite: no processor is known.
    double late_after_s(int processor, Units units) const;
    /// By how much it is late when it has run that long, and how long it has run when it is late by so much.
    double late_by_s(int processor, Units units, double ran_s) const;
    double late_by_after_s(int processor, Units units, double late_s) const;
    double stalled_after_s(int processor, Units units) const;
    /// What takes no time, such as an answer of a node, stalls after so many.
    double silence_s() const { return factor_ * kShortestStall_s; }

    /// What the processor itself needs for units that it computes again, with their transfer.
    const Pace& whole(int processor) const { return whole_[static_cast<std::size_t>(processor)]; }
    /// A processor that can begin with something else in so many seconds.
    struct Free {
        int processor = 0;
        double in_s = 0;
    };
    /// Seconds in which these processors together get through that many units at the latest; infinite: never.
    double together_s(const std::vector<Free>& processors, Units units) const;

  private:
    static constexpr double kLate = 2;
    static constexpr double kShortestStall_s = 1.5;  ///< times the factor: no thread of a busy machine waits so long

    double all_measured_s(Units units) const;

    double factor_;
    std::vector<Pace> kernel_, whole_;
    std::vector<bool> measured_;
    mutable std::optional<std::pair<Units, double>>
        last_asked_;  ///< all_measured_s: asked for all first blocks in turn
};

}  // namespace apportion
