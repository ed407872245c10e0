// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Largest sizes within a time. M_i(tau) is the largest size that processor i computes in at most tau seconds; it is
// read off the suffix minima of the time function. The one pass over the input keeps the minimum of each block of
// points; a size is then found by a search among the blocks' suffix minima and inside one block. For many n on the same
// profile the envelopes can be merged, which finds the same faster.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/planners/discrete_problem.hpp"
#include "policies/planners/hpopta_blocks.hpp"
#include "policies/planners/hpopta_merged.hpp"

namespace apportion {

class Envelopes {
  public:
    /// `processors[i]` stands for `copies` identical processors. Reads all times once.
    Envelopes(std::span<const SizeTimes> processors, Units copies);

    /// Makes further bounds and reading the points near them cheap, see MergedEnvelopes for the cost.
    void prepare(std::span<const SizeTimes> processors) {
        merged_.emplace(processors);
        sorted_ = std::vector<TimeSortedBlocks>(processors.begin(), processors.end());
    }

    /// From here on only sizes up to `limit` count.
    void limit_sizes(Units limit);

    std::size_t processors() const { return lanes_.size(); }
    Units copies() const { return copies_; }
    const SizeTimes& sizes(std::size_t processor) const { return lanes_[processor].sizes; }

    bool prepared() const { return merged_.has_value(); }

    /// nullptr unless prepared.
    const TimeSortedBlocks* sorted(std::size_t processor) const {
        return sorted_.empty() ? nullptr : &sorted_[processor];
    }

    /// Number of points up to the largest size within tau, 0 if there is none: M_i(tau) = size(result - 1). O(1) for
    /// the latest bound when prepared.
    std::size_t count_within(std::size_t processor, double tau);

    /// Sum of all M_i(infinity).
    Units capacity() const;

    /// Mean distance of sizes that follow each other, rounded up.
    Units mean_step() const;

    /// The smallest tau with sum of M_i(tau) >= `units`, for 0 < units <= capacity(): no distribution of so many units
    /// takes less. Selects among the blocks, then among the points of one block of each processor. `at_least` is known
    /// not to exceed it.
    double bound(Units units, double at_least = 0);

  private:
    /// Of one processor while bound() selects: blocks [first, end) are undecided, `within` end within the pivot.
    struct Bracket {
        std::size_t first = 0, end = 0, within = 0;
    };
    struct Lane {
        SizeTimes sizes;
        int shift = 0;                ///< a block has 2^shift points
        std::size_t first_block = 0;  ///< in minima_
        std::size_t points = 0;       ///< up to the limit
        std::size_t blocks = 0;       ///< up to an earlier limit, until cut()
        std::size_t cut_points = 0;   ///< those that blocks and suffix minima are of
        Bracket bracket;
        std::size_t end_of(std::size_t block) const { return std::min((block + 1) << shift, points); }
    };

    const double* suffix_minima(const Lane& lane) const { return suffix_minima_.data() + lane.first_block; }
    void compute_suffix_minima(const Lane& lane);
    void cut(Lane& lane);
    bool merged_within_limit() const;
    double select_bound(Units units, double at_least);
    std::size_t count_in_blocks(const Lane& lane, std::size_t blocks, double tau) const;
    double choose_pivot(double fraction, std::size_t left);
    bool reaches(Units units, double pivot, double& about) const;
    double select_inside_blocks(Units units, double below, double above) const;

    Units copies_;
    std::vector<Lane> lanes_;
    std::vector<double> minima_;             ///< of each block
    std::vector<double> suffix_minima_;      ///< of each block and those after it, up to the limit: never descends
    std::optional<MergedEnvelopes> merged_;  ///< without the limit
    double merged_bound_s_ = 0;              ///< its latest
    std::vector<TimeSortedBlocks> sorted_;
    unsigned pivots_ = 0;
    std::uint64_t random_ = 0x9e3779b97f4a7c15;
};

}  // namespace apportion
