// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Subset sums of `hpopta` in a few machine words: bit k of a mask tells that a set contains k, and bit k of the sums
// that one number from each set adds up to k. What is needed near the bound, without memory of its own to get.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// Sums below 64 kWords. Every set contains 0.
template <std::size_t kWords>
class MaskSums {
  public:
    static constexpr Units kEnd = 64 * static_cast<Units>(kWords);

    class Mask {
      public:
        void insert_if(bool condition, Units number) {
            words[index(number)] |= std::uint64_t{condition} << (number % 64);
        }
        bool contains(Units number) const { return words[index(number)] >> (number % 64) & 1; }

        std::array<std::uint64_t, kWords> words = {1};

      private:
        static std::size_t index(Units number) { return static_cast<std::size_t>(number) / 64; }
    };

    /// For up to `sets` sets.
    void clear(std::size_t sets) {
        sets_.clear();
        sets_.reserve(sets);
        sums_ = {};
    }

    bool contains(Units sum) const { return sums_.contains(sum); }

    /// O(numbers of the set x words).
    void add(const Mask& set) {
        sets_.push_back({set, sums_});
        Shifted before(sums_);
        for (std::size_t w = 0; w < kWords; ++w)
            for (std::uint64_t rest = set.words[w] & (w == 0 ? ~std::uint64_t{1} : ~std::uint64_t{0}); rest != 0;
                 rest &= rest - 1)
                before.merge_into(sums_, w, std::countr_zero(rest));
    }

    /// Numbers of the first sets that add up to `sum`, which must be contained.
    void choose(Units sum, std::span<Units> choice) const {
        for (std::size_t i = sets_.size(); i-- > 0;) {
            Units number = 0;
            while (!sets_[i].mask.contains(number) || !sets_[i].sums_before.contains(sum - number)) ++number;
            choice[i] = number;
            sum -= number;
        }
    }

  private:
    struct Set {
        Mask mask, sums_before;
    };

    /// A mask with zeros below, from which shifted ones are read.
    class Shifted {
      public:
        explicit Shifted(const Mask& mask) {
            for (std::size_t w = 0; w < kWords; ++w) words_[kWords + w] = mask.words[w];
        }
        void merge_into(Mask& mask, std::size_t jump, int shift) const {
            const std::uint64_t* const from = words_.data() + kWords - jump;
            for (std::size_t w = 0; w < kWords; ++w)
                mask.words[w] |= from[w] << shift | from[w - 1] >> 1 >> (63 - shift);
        }

      private:
        std::array<std::uint64_t, 2 * kWords> words_{};
    };

    std::vector<Set> sets_;
    Mask sums_;
};

}  // namespace apportion
