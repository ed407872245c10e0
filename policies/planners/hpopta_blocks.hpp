// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The points of a processor in blocks of 64, those of each block in order of time, for many n on the same profile: of
// the sizes near M_i(tau) only few are within tau, and only these are read.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/planners/discrete_problem.hpp"

namespace apportion {

class TimeSortedBlocks {
  public:
    /// O(points).
    explicit TimeSortedBlocks(const SizeTimes& sizes);

    /// Calls take(k, seconds) for the points k of [begin, end) that take at most tau, in ascending order.
    template <typename Take>
    void for_each_within(std::size_t begin, std::size_t end, double tau, Take take) const {
        std::array<double, kBlock> seconds;
        for (std::size_t first = begin / kBlock * kBlock; first < end; first += kBlock) {
            const std::size_t last = std::min(first + kBlock, seconds_.size());
            std::uint64_t within = 0;
            for (std::size_t k = first; k < last && seconds_[k] <= tau; ++k) {
                seconds[points_[k]] = seconds_[k];
                within |= std::uint64_t{1} << points_[k];
            }
            if (first < begin) within &= ~std::uint64_t{0} << (begin - first);
            if (end - first < kBlock) within &= ~(~std::uint64_t{0} << (end - first));
            for (; within != 0; within &= within - 1) {
                const auto k = static_cast<std::size_t>(std::countr_zero(within));
                take(first + k, seconds[k]);
            }
        }
    }

    /// Starts to fetch from memory what for_each_within() reads of each block at first.
    void prefetch(std::size_t begin, std::size_t end) const {
        for (std::size_t first = begin / kBlock * kBlock; first < end; first += kBlock) {
            __builtin_prefetch(seconds_.data() + first);
            __builtin_prefetch(points_.data() + first);
        }
    }

  private:
    static constexpr std::size_t kBlock = 64;

    std::vector<double> seconds_;       ///< ascending in each block
    std::vector<std::uint8_t> points_;  ///< of these times, counted from the block's first
};

}  // namespace apportion
