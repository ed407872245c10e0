// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The sums of one number from each of several sets, up to a limit: as a row of bits, and as a sorted list for limits
// that no row of bits can hold. Both have the same interface; hpopta_sumset.cpp is written once for both.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

class BitSums {
  public:
    /// Just the numbers of `set` (ascending) that are <= limit.
    BitSums(std::span<const Units> set, Units limit);

    /// All sums with a number of `set`, up to `limit`.
    BitSums plus(std::span<const Units> set, Units limit) const;

    bool contains(Units sum) const {
        return sum >= 0 && sum <= largest_ && (words_[static_cast<std::size_t>(sum) / 64] >> (sum % 64) & 1);
    }

    /// The largest sum <= bound (0 always is one), and the smallest > bound.
    Units at_most(Units bound) const;
    std::optional<Units> above(Units bound) const;

    /// First and last of the longest interval that is contained.
    std::pair<Units, Units> longest_interval() const;

  private:
    explicit BitSums(Units largest);
    void insert(Units sum) { words_[static_cast<std::size_t>(sum) / 64] |= std::uint64_t{1} << (sum % 64); }
    void merge_shifted(const BitSums& other, Units by);
    Units best_step() const;

    Units largest_;
    std::vector<std::uint64_t> words_;
};

class SortedSums {
  public:
    SortedSums(std::span<const Units> set, Units limit);
    SortedSums plus(std::span<const Units> set, Units limit) const;
    bool contains(Units sum) const;
    Units at_most(Units bound) const;
    std::optional<Units> above(Units bound) const;
    std::pair<Units, Units> longest_interval() const { return {0, 0}; }

  private:
    SortedSums() = default;
    std::vector<Units> sums_;
};

}  // namespace apportion
