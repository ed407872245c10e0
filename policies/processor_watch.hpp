// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which processors do not answer any more: judges a block in flight by how long the last blocks of its processor took.
//
// A block should take no longer than the cheapest of the last few would have, in proportion where it is larger: each
// of them bounds it from above as long as larger blocks are no slower per unit, and the cheapest is no spike. Blocks
// that are late are told apart by what waiting for them costs:
//  - silent: late by `factor` times as long as the block should take (and by kShortestSilence_s). Whatever the others
//    do, this processor does not answer. A spike of 20 times, or a block of an unknown size, is far from it.
//  - overdue: late by as long as all others would need to compute it again, and by more than noise: by 30 % of the
//    time that it should take, but no less than kShortestDelay_s and, up to 20 s, no more than kLongestDelay_s. Nothing
//    is lost by waiting so long, so this is asked only when they have nothing else to do; whoever waits no longer than
//    what the alternative costs never pays more than twice the best.
//
// A processor that has finished nothing is judged by what the caller forecasts, by those of its kind, or else by
// `factor` times what the slowest other would need. As long as nothing is known of anybody, nobody is late.
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
    enum class Verdict { on_time, overdue, silent };

    static constexpr double kShortestSilence_s = 3;
    static constexpr double kShortestDelay_s = 0.1;
    static constexpr double kLongestDelay_s = 1;  ///< for blocks of up to 20 s

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
    void forecast(int processor, Units units, double seconds) { lanes_[processor].forecast = Sample{units, seconds}; }
    bool has_finished(int processor) const { return !lanes_[processor].samples.empty(); }

    void lose(int processor) { lanes_[processor].lost = true; }
    bool lost(int processor) const { return lanes_[processor].lost; }
    bool all_lost() const;

    /// Judges the oldest block that a processor has in flight.
    Verdict judge(int processor, Units units, double given_s, double now_s) const;

    /// Whether a block is silent `waited_s` after it could have begun.
    bool silent(int processor, Units units, double waited_s) const;

    /// Whether a block has not ended long after it should, so that its processor cannot be counted on.
    bool gone(int processor, Units units, double waited_s) const;

    /// Seconds since that block could have begun.
    double waited_s(int processor, double given_s, double now_s) const;

  private:
    struct Sample {
        Units units = 0;
        double seconds = 0;
    };
    struct Lane {
        int kind = 0;
        std::deque<Sample> samples;  ///< the last few blocks
        std::optional<Sample> forecast;
        double last_end_s = 0;
        bool lost = false;
    };

    static std::optional<double> expected_s(const Lane& lane, Units units);
    std::optional<double> expected_s(int processor, Units units) const;
    std::optional<double> expected_of_kind_s(int kind, Units units) const;
    std::optional<double> slowest_s(Units units) const;
    double others_s(int processor, Units units) const;

    double factor_;
    std::vector<Lane> lanes_;
    double resumed_s_ = 0;
};

}  // namespace apportion
