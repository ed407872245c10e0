// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta_sums.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace apportion {

namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr std::size_t kMostSortedSums = std::size_t{1} << 26;  // 512 MiB

// A set of so few is added sooner than its best step is found.
constexpr std::size_t kFewNumbers = 64;

/// start, start + step, ..., `length` numbers
struct Progression {
    Units start, length;
};

}  // namespace

BitSums::BitSums(Units largest) : largest_(largest), words_(static_cast<std::size_t>(largest) / 64 + 1) {}

BitSums::BitSums(std::span<const Units> set, Units limit) : BitSums(std::min(limit, set.back())) {
    for (const Units number : set) {
        if (number > limit) break;
        insert(number);
    }
}

// this |= other << by, cut at largest_. From the highest word down, so that `other` may be *this.
void BitSums::merge_shifted(const BitSums& other, Units by) {
    if (by > largest_) return;
    const std::size_t jump = static_cast<std::size_t>(by) / 64;
    const int shift = static_cast<int>(by % 64);
    const std::size_t count = other.words_.size();
    const std::uint64_t* const from = other.words_.data();
    std::size_t w = std::min(words_.size(), count + jump + (shift != 0));
    std::uint64_t* const to = words_.data();
    if (shift == 0) {
        for (; w > jump; --w) to[w - 1] |= from[w - 1 - jump];
    } else {
        if (w == count + jump + 1) to[--w] |= from[count - 1] >> (64 - shift);
        for (; w > jump + 1; --w) to[w - 1] |= from[w - 1 - jump] << shift | from[w - 2 - jump] >> (64 - shift);
        to[jump] |= from[0] << shift;
    }
    const int used = static_cast<int>(largest_ % 64) + 1;
    if (used < 64) words_.back() &= kAll >> (64 - used);
}

// The step for which the numbers fall into the fewest arithmetic progressions.
Units BitSums::best_step() const {
    constexpr Units kLargestStep = 32;
    Units best = 1;
    int fewest = -1;
    for (Units step = 1; step <= std::min(kLargestStep, largest_); ++step) {
        int starts = 0;
        std::uint64_t below = 0;
        for (const std::uint64_t word : words_) {
            starts += std::popcount(word & ~(word << step | below >> (64 - step)));
            below = word;
        }
        if (fewest < 0 || starts < fewest) fewest = starts, best = step;
        if (fewest <= 2) break;
    }
    return best;
}

BitSums BitSums::plus(std::span<const Units> set, Units limit) const {
    const BitSums numbers(set, limit);
    const Units step = set.size() <= kFewNumbers ? 1 : numbers.best_step();
    std::vector<Progression> progressions;
    Units longest = 1;
    for (const Units start : set) {
        if (start > limit) break;
        if (numbers.contains(start - step)) continue;
        Units length = 1;
        while (numbers.contains(start + step * length)) ++length;
        progressions.push_back({start, length});
        longest = std::max(longest, length);
    }
    BitSums result(std::min(limit, largest_ + set.back()));
    BitSums doubled(result.largest_);  // the sums with 0, step, ..., (count - 1) step
    doubled.merge_shifted(*this, 0);
    for (Units count = 1;; count *= 2) {
        for (const auto [start, length] : progressions) {
            if (length < count || length >= 2 * count) continue;
            result.merge_shifted(doubled, start);
            if (length > count) result.merge_shifted(doubled, start + step * (length - count));
        }
        if (2 * count > longest) return result;
        doubled.merge_shifted(doubled, step * count);
    }
}

Units BitSums::at_most(Units bound) const {
    Units sum = std::min(bound, largest_);
    while (!contains(sum)) --sum;
    return sum;
}

std::optional<Units> BitSums::above(Units bound) const {
    for (Units sum = bound + 1; sum <= largest_; ++sum)
        if (contains(sum)) return sum;
    return std::nullopt;
}

std::pair<Units, Units> BitSums::longest_interval() const {
    Units best_begin = 0, best_end = 0, begin = 0;  // [begin, end); `begin` is of the interval that is open now
    bool open = false;
    Units base = 0;
    for (const std::uint64_t word : words_) {
        for (int bit = 0; bit < 64;) {
            const std::uint64_t rest = word >> bit;
            const int same = std::min(64 - bit, open ? std::countr_one(rest) : std::countr_zero(rest));
            bit += same;
            if (bit == 64) break;
            if (!open) {
                begin = base + bit;
            } else if (base + bit - begin > best_end - best_begin) {
                best_begin = begin, best_end = base + bit;
            }
            open = !open;
        }
        base += 64;
    }
    if (open && base - begin > best_end - best_begin) best_begin = begin, best_end = base;
    return {best_begin, best_end - 1};
}

SortedSums::SortedSums(std::span<const Units> set, Units limit)
    : sums_(set.begin(), std::upper_bound(set.begin(), set.end(), limit)) {}

SortedSums SortedSums::plus(std::span<const Units> set, Units limit) const {
    if (set.size() > kMostSortedSums / sums_.size()) throw std::length_error("too many different sums");
    SortedSums result;
    result.sums_.reserve(sums_.size() * set.size());
    for (const Units number : set)
        for (const Units sum : sums_) {
            if (sum > limit - number) break;
            result.sums_.push_back(sum + number);
        }
    std::sort(result.sums_.begin(), result.sums_.end());
    result.sums_.erase(std::unique(result.sums_.begin(), result.sums_.end()), result.sums_.end());
    return result;
}

bool SortedSums::contains(Units sum) const { return std::binary_search(sums_.begin(), sums_.end(), sum); }

Units SortedSums::at_most(Units bound) const { return *std::prev(std::upper_bound(sums_.begin(), sums_.end(), bound)); }

std::optional<Units> SortedSums::above(Units bound) const {
    const auto found = std::upper_bound(sums_.begin(), sums_.end(), bound);
    return found == sums_.end() ? std::nullopt : std::optional(*found);
}

}  // namespace apportion
