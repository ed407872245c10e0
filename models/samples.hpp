// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When a time is measured well enough, and what it is then: a measurement is repeated until the Student-t confidence
// interval of its mean is within a precision (Khaleghzadeh et al., HPOPTA, section 1: 95 %, 2.5 %; FuPerMod, section
// 4). Statistics only: the caller owns the clock.
//
// Beyond the papers: caps on repetitions and on time, and robustness. The first sample is warm-up. A sample far above
// the median (page faults, clock ramp, another job) is a spike and left out of mean and interval, but only while spikes
// are rare: a processor that is slow every third time is slow.
#pragma once

#include <string>
#include <vector>

namespace apportion {

struct SampleOptions {
    double precision = 0.025;  ///< largest half width of the interval, relative to the mean
    int least = 3;             ///< used samples before the interval is believed; >= 2
    int most = 100;            ///< used samples at which repeating ends
    double most_seconds = 60;  ///< measured time, warm-up included, at which repeating ends; one used sample at least

    /// Empty, or what is wrong with the values.
    std::string invalid() const;
};

/// Of at least one.
double median(std::vector<double> values);

class Samples {
  public:
    explicit Samples(const SampleOptions& options = {}) : options_(options) {}

    /// One repetition. Times that are not positive and finite are not counted.
    void add(double seconds);

    bool enough() const;   ///< stop repeating: precise, or a cap is reached
    bool precise() const;  ///< the interval is within the precision

    double mean_s() const { return mean_s_; }  ///< without warm-up and spikes; 0 before the first used sample
    /// Half width of the confidence interval; 0 below 2 samples, which have none, as in a profile.
    double interval_s() const { return interval_s_; }
    int repetitions() const { return static_cast<int>(used_.size()) - spikes_; }  ///< samples in the mean

  private:
    void update();

    SampleOptions options_;
    bool warm_ = false;
    std::vector<double> used_;  ///< ascending
    int spikes_ = 0;
    double total_s_ = 0;
    double mean_s_ = 0;
    double interval_s_ = 0;
};

}  // namespace apportion
