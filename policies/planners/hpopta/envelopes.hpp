// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The lower bound of `hpopta`. M_i(tau) is the largest size that processor i computes within tau seconds. It is read
// off the suffix minima of the time function: the smallest times of the points from one on. The one pass over the input
// keeps the suffix minima at the beginnings of blocks; M_i(tau) is found by a search among the blocks and a walk inside
// one block.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "policies/planners/discrete_problem.hpp"

namespace apportion {

class Envelopes {
  public:
    /// Reads all times once. `for_many` calls of bound(): each is O(log points), for a sort of at most all points.
    Envelopes(std::span<const SizeTimes> processors, bool for_many);

    std::size_t processors() const { return lanes_.size(); }
    const SizeTimes& sizes(std::size_t processor) const { return lanes_[processor].sizes; }

    /// To be called before count_within(), for all processors at once: memory answers them together.
    void seek(double tau);
    /// Number of points up to the largest size within tau: M_i(tau) = size(result - 1), or 0 units when it is 0.
    std::size_t count_within(std::size_t processor, double tau) const;

    /// Sum of all M_i(infinity).
    Units capacity() const { return capacity_; }

    /// Mean distance of neighbouring sizes, rounded up.
    Units mean_step() const { return mean_step_; }

    /// The smallest tau for which all M_i(tau) add up to at least `units`, for 0 < units <= capacity(): no distribution
    /// of so many units takes less.
    double bound(Units units);

  private:
    /// From `seconds` on, `units` more are within the time.
    struct Step {
        double seconds;
        Units units;
        auto operator<=>(const Step&) const = default;
    };
    struct Lane {
        SizeTimes sizes;
        int shift = 0;                   ///< a block has 2^shift points
        std::vector<double> minima;      ///< suffix minima at the beginnings of the blocks: they never descend
        std::size_t first = 0, end = 0;  ///< while bound() searches: the blocks of which it is open
        std::size_t within = 0;          ///< blocks that begin within the pivot, or within the time sought
        std::span<const double> open() const { return std::span(minima).subspan(first, end - first); }
        std::size_t end_of(std::size_t block) const { return std::min((block + 1) << shift, sizes.count()); }
    };

    std::size_t count_in_blocks(const Lane& lane, std::size_t blocks, double tau) const;
    double any_undecided(std::size_t undecided);
    Units add_steps(const Lane& lane, std::size_t count, double below, double above);

    std::vector<Lane> lanes_;
    Units capacity_ = 0, mean_step_ = 1;
    std::vector<Step> steps_;  ///< of the last search or, for many calls, all of them by time
    std::vector<Units> sums_;  ///< of these steps; only for many calls
    std::minstd_rand random_;
};

}  // namespace apportion
