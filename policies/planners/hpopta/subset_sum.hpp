// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Subset sums of `hpopta`: one number from each set so that they add up to a target. The sums of the first sets are a
// row of bits, up to the target. What keeps long rows cheap: numbers are counted in their greatest common divisor, and
// as soon as the sums contain an interval as long as the largest gap of a further set, that set only lengthens the
// interval. Where no row of bits can be long enough the sums are a sorted list.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// Numbers >= 0, ascending, beginning with 0.
using NumberSet = std::span<const Units>;

/// Sums as a row of bits; at first just the sum 0.
class BitSums {
  public:
    void assign(const BitSums& sums, NumberSet plus, Units limit);
    bool contains(Units sum) const {
        const auto word = static_cast<std::size_t>(sum) / 64;  // of a negative sum: larger than any
        return word < words_.size() && (words_[word] >> (sum % 64) & 1);
    }
    std::pair<Units, Units> interval(Units least) const;
    std::pair<Units, std::optional<Units>> nearest(Units target) const;

  private:
    void merge_shifted(const BitSums& sums, Units by);

    std::vector<std::uint64_t> words_ = {1};
};

/// Sums as a sorted list, with the same interface.
class ListedSums {
  public:
    void assign(const ListedSums& sums, NumberSet plus, Units limit);
    bool contains(Units sum) const;
    std::pair<Units, Units> interval(Units) const { return {0, 0}; }
    std::pair<Units, std::optional<Units>> nearest(Units target) const;

  private:
    std::vector<Units> sums_ = {0};
};

/// Keeps its memory from one call to the next. Throws std::length_error when sums without any regularity need more than
/// about 1 GB.
class SubsetSum {
  public:
    /// Whether one number from each set can add up to `target` >= 0; if so and `choice` is given, it becomes the
    /// numbers in order of the sets.
    bool choose(std::span<const NumberSet> sets, Units target, std::vector<Units>* choice = nullptr);

    /// The largest sum <= target and the smallest sum > target, where there is one.
    std::pair<Units, std::optional<Units>> nearest(std::span<const NumberSet> sets, Units target);

  private:
    void divide(std::span<const NumberSet> sets, Units divisor);
    NumberSet set(std::size_t stage) const { return sets_[order_[stage]]; }
    template <typename Sums>
    bool search(std::vector<Sums>& sums, Units target, std::vector<Units>* choice);
    template <typename Sums>
    bool lengthen_interval(const std::vector<Sums>& sums, std::size_t stage, Units target, std::vector<Units>* choice);
    template <typename Sums>
    void backtrack(const std::vector<Sums>& sums, std::size_t stage, Units sum, std::vector<Units>* choice);

    std::vector<NumberSet> sets_;     ///< divided by their greatest common divisor
    std::vector<Units> numbers_;      ///< of these, unless the divisor is 1
    std::vector<Units> gaps_;         ///< largest one of each set
    std::vector<std::size_t> order_;  ///< of the sets: stage 0, 1, ...
    std::vector<BitSums> bits_;       ///< of the sets before each stage
};

}  // namespace apportion
