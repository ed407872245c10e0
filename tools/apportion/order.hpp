// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What repeated timings of several candidates say about their order, whatever the distribution of the times.
//
// A round runs every candidate once, in random order. Where two candidates are alike, each is the faster one of a round
// with probability 1/2, whatever else the machine does meanwhile. After w wins and l losses the evidence against that
// is the likelihood ratio of all other probabilities, mixed evenly, to 1/2:
//
//     E = 2^(w+l) w! l! / (w+l+1)!
//
// With probability 1 - a it never exceeds 1/a, however often it is looked at (Ville's inequality), so rounds may go on
// until it does. With m pairs an order is claimed where E >= m/a: with a = 2 %, the chance that any claimed order of a
// comparison is due to chance is at most 2 %, one comparison in fifty. Two candidates need 9 rounds that agree, one
// more than with 5 %.
//
// Medians have intervals between order statistics (binomial), which suppose nothing about the times either, and need no
// resampling; with less than 6 runs they are from the fastest to the slowest, with less confidence.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "models/samples.hpp"

namespace apportion {

inline constexpr double kOrderError = 0.02;  ///< a, see above
inline constexpr double kConfidence = 0.95;  ///< of intervals, where there are enough runs
inline constexpr double kAlike = 0.01;       ///< relative difference of medians that does not matter

struct Interval {
    double low = 0, high = 0;
    double confidence = 0;  ///< at least kConfidence, or what so few values have
};

/// Of the median of at least one value.
Interval median_interval(std::vector<double> values);

/// ln E.
double log_evidence(int wins, int losses);

/// A candidate's times by rounds, or whatever else makes those of several candidates comparable.
using SecondsByRound = std::map<int, double>;

class Order {
  public:
    /// `pairs`: m, at least those of these candidates. `exact`: times that would be the same in every round.
    Order(std::vector<SecondsByRound> candidates, std::size_t pairs, bool exact);

    bool faster(std::size_t a, std::size_t b) const;  ///< it may be said that a is faster than b
    bool alike(std::size_t a, std::size_t b) const;   ///< their times differ by less than kAlike
    /// Whether more rounds would not say more about a and b.
    bool settled(std::size_t a, std::size_t b) const { return exact_ || faster(a, b) || faster(b, a) || alike(a, b); }
    bool settled() const;

    /// 1 + the number of candidates that are faster: those that cannot be told apart can share it.
    int rank(std::size_t a) const;

    /// Time of b in multiples of a's, over the rounds that both took part in.
    Interval ratio(std::size_t b, std::size_t a) const;
    double median_ratio(std::size_t b, std::size_t a) const;

  private:
    std::vector<double> ratios(std::size_t b, std::size_t a) const;

    std::vector<SecondsByRound> candidates_;
    double log_threshold_;
    bool exact_;
};

}  // namespace apportion
