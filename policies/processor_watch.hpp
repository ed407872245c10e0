// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which processors do not answer any more: judges a block in flight by how long the last blocks of its processor took.
//
// A block should take as long as the cheapest of the last few would have, which is no spike: in proportion where it is
// larger, and on the line through two of them, or half in proportion, where it is smaller.
//  - late: by more than noise, which is kNoise of the time that it should take, but no less than kShortestDelay_s and
//  no
//    more than kLongestDelay_s (or kLongNoise of it). Others compute its units again when they have nothing else to do,
//    and who is done first counts. Where copies are costly, because the slower one holds somebody up, it must be late
//    by as long as the others would need, too: who waits no longer than what the alternative costs never pays more than
//    twice the best. Where they are cheap, those that are idle may begin earlier, if they could have computed the block
//    by now: when it is late at all, or when they would be done well before (what a block should take that is much
//    larger than those before it is little more than a guess).
//  - silent: late by `factor` times as long as the block should take (and by kShortestSilence_s). Whatever the others
//    do, this processor does not answer. A spike of 20 times, or a block of an unknown size, is far from it.
//
// A processor that has finished nothing is judged by what the caller forecasts, by those of its kind, or else by what
// the slowest other would need, `factor` times `factor` times. As long as nothing is known of anybody, nobody is late.
//
// Pure: the time is told. Seconds since the run's begin.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

class ProcessorWatch {
  public:
    enum class Verdict { on_time, late, silent };
    enum class Copies { cheap, costly };

    static constexpr double kShortestSilence_s = 3;
    static constexpr double kNoise = 0.3, kLongNoise = 0.05;
    static constexpr double kShortestDelay_s = 0.002;       ///< where copies are cheap
    static constexpr double kShortestCostlyDelay_s = 0.02;  ///< threads of a busy machine wait about as long
    static constexpr double kLongestDelay_s = 1;

    /// factor >= 1
    explicit ProcessorWatch(double factor) : factor_(factor) {}

    /// A run begins: nobody is lost; what is known of the same processors stays.
    void begin(std::span<const Processor> processors);

    /// A block of `units`, whose data were free to travel at `given_s`, ended.
    void finished(int processor, Units units, double given_s, double end_s);

    /// Nobody ran for a while until now (the program was suspended): waiting counts from here on.
    void resumed(double now_s) { resumed_s_ = now_s; }

    /// What a block of that many units should take, by a model of the caller, as long as the processor has finished
    /// none.
    void forecast(int processor, Units units, double seconds) {
        lanes_[processor].forecast = Sample{static_cast<double>(units), seconds};
    }
    bool has_finished(int processor) const { return !lanes_[processor].samples.empty(); }

    void lose(int processor) { lanes_[processor].lost = true; }
    bool lost(int processor) const { return lanes_[processor].lost; }
    bool all_lost() const;

    /// Judges the oldest block that a processor has in flight; `idle`: those who have nothing to do.
    Verdict judge(int processor, Units units, double given_s, double now_s, Copies copies,
                  const std::vector<int>& idle) const;

    /// When that block will be late if nobody is idle, from what is known now; infinite: not known.
    double late_at_s(int processor, Units units, double given_s, Copies copies) const;

    /// Whether a block is silent `waited_s` after it could have begun.
    bool silent(int processor, Units units, double waited_s) const;

    /// Whether a block has not ended long after it should, so that its processor cannot be counted on.
    bool gone(int processor, Units units, double waited_s) const;

    /// Seconds since that block could have begun.
    double waited_s(int processor, double given_s, double now_s) const { return now_s - began_s(processor, given_s); }

  private:
    struct Sample {
        double units = 0;
        double seconds = 0;

        /// In proportion for more units; for less, half of it is thought to be fixed.
        double at(double x) const { return seconds * (x > units ? x / units : (1 + x / units) / 2); }
    };
    struct Lane {
        int kind = 0;
        std::deque<Sample> samples;  ///< the last few blocks
        std::optional<Sample> forecast;
        double last_end_s = 0;
        bool lost = false;
    };

    double began_s(int processor, double given_s) const;
    static std::optional<double> expected_s(const Lane& lane, Units units);
    std::optional<double> expected_s(int processor, Units units) const;
    std::optional<double> expected_of_kind_s(int kind, Units units) const;
    std::optional<double> slowest_s(Units units) const;
    double again_s(int late, Units units, const std::vector<int>* idle) const;

    double factor_;
    std::vector<Lane> lanes_;
    double resumed_s_ = 0;
};

}  // namespace apportion
