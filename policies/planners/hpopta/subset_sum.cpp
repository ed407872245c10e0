// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/subset_sum.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <stdexcept>

namespace apportion {

namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr Units kLongestRow = Units{1} << 31;              // bits, 256 MiB
constexpr std::size_t kMostListed = std::size_t{1} << 26;  // sums, 512 MiB

Units common_divisor(std::span<const NumberSet> sets) {
    // powers of two first: they are the common case and need no division
    Units bits = 0;
    for (const NumberSet set : sets)
        for (std::size_t k = 0; k < set.size() && (bits & 1) == 0; ++k) bits |= set[k];
    if (bits == 0) return 1;
    const int twos = std::countr_zero(static_cast<std::uint64_t>(bits));
    Units odd = 0;
    for (const NumberSet set : sets)
        for (std::size_t k = 0; k < set.size() && odd != 1; ++k) {
            const Units number = set[k] >> twos;
            if (odd == 0 || number % odd != 0) odd = std::gcd(odd, number);
        }
    return odd << twos;
}

Units largest_gap(NumberSet set) {
    Units gap = 0;
    for (std::size_t k = 1; k < set.size(); ++k) gap = std::max(gap, set[k] - set[k - 1]);
    return gap;
}

}  // namespace

// this |= sums << by, without what is beyond. From the highest word down, so that `sums` may be *this.
void BitSums::merge_shifted(const BitSums& sums, Units by) {
    const std::size_t jump = static_cast<std::size_t>(by) / 64;
    if (jump >= words_.size()) return;
    const int shift = static_cast<int>(by % 64);
    const std::uint64_t* const from = sums.words_.data();
    std::uint64_t* const to = words_.data() + jump;
    std::size_t w = std::min(sums.words_.size(), words_.size() - jump);
    if (jump + w < words_.size()) to[w] |= from[w - 1] >> 1 >> (63 - shift);
    for (; w > 1; --w) to[w - 1] |= from[w - 1] << shift | from[w - 2] >> 1 >> (63 - shift);
    to[0] |= from[0] << shift;
}

// Every number shifts the sums. Where there are many, whole progressions do, with the most frequent gap as their step:
// the sums shifted by 0, step, ..., (count - 1) step are had by doubling.
void BitSums::assign(const BitSums& sums, NumberSet plus, Units limit) {
    const std::size_t most = static_cast<std::size_t>(limit) / 64 + 1;
    words_.assign(std::min(most, sums.words_.size() + static_cast<std::size_t>(plus.back()) / 64 + 1), 0);
    if (plus.size() <= 64) {
        for (const Units number : plus) merge_shifted(sums, number);
        return;
    }
    std::array<int, 64> gaps{};
    for (std::size_t k = 1; k < plus.size(); ++k)
        if (plus[k] - plus[k - 1] < 64) ++gaps[static_cast<std::size_t>(plus[k] - plus[k - 1])];
    const Units step = std::ranges::max_element(gaps) - gaps.begin();
    std::vector<std::pair<Units, Units>> progressions;  // start, length
    Units longest = 0;
    for (std::size_t k = 0; k < plus.size() && plus[k] <= limit; ++k) {
        if (k == 0 || plus[k] - plus[k - 1] != step) progressions.emplace_back(plus[k], 0);
        longest = std::max(longest, ++progressions.back().second);
    }
    BitSums doubled;
    doubled.words_ = sums.words_;
    doubled.words_.resize(words_.size());
    for (Units count = 1;; count *= 2) {
        for (const auto& [start, length] : progressions) {
            if (length < count || length >= 2 * count) continue;
            merge_shifted(doubled, start);
            if (length > count) merge_shifted(doubled, start + step * (length - count));
        }
        if (2 * count > longest) return;
        doubled.merge_shifted(doubled, step * count);
    }
}

// The longest one, as far as it is longer than `least`: runs inside of words are looked at only where they can be.
std::pair<Units, Units> BitSums::interval(Units least) const {
    std::pair<Units, Units> longest = {0, 0};
    const auto consider = [&](Units begin, Units end) {
        if (end - begin > longest.second - longest.first + 1) longest = {begin, end - 1};
    };
    Units begin = 0, base = 0;  // of the run that ends in front of the word or goes on, and of the word
    for (const std::uint64_t word : words_) {
        if (word != kAll) {
            consider(begin, base + std::countr_one(word));
            begin = base + 64 - std::countl_one(word);
            for (std::uint64_t rest = least < 64 ? word : 0; rest != 0; rest &= rest + (rest & -rest)) {
                const int at = std::countr_zero(rest);
                consider(base + at, base + at + std::countr_one(rest >> at));
            }
        }
        base += 64;
    }
    consider(begin, base);
    return longest;
}

std::pair<Units, std::optional<Units>> BitSums::nearest(Units target) const {
    const Units end = 64 * static_cast<Units>(words_.size());
    Units below = std::min(target, end - 1), above = target + 1;
    while (!contains(below)) --below;
    while (above < end && !contains(above)) ++above;
    return {below, above < end ? std::optional(above) : std::nullopt};
}

void ListedSums::assign(const ListedSums& sums, NumberSet plus, Units limit) {
    if (plus.size() > kMostListed / sums.sums_.size()) throw std::length_error("too many different sums");
    sums_.clear();
    for (const Units number : plus)
        for (const Units sum : sums.sums_)
            if (sum <= limit - number) sums_.push_back(sum + number);
    std::ranges::sort(sums_);
    sums_.erase(std::unique(sums_.begin(), sums_.end()), sums_.end());
}

bool ListedSums::contains(Units sum) const { return std::ranges::binary_search(sums_, sum); }

std::pair<Units, std::optional<Units>> ListedSums::nearest(Units target) const {
    const auto above = std::ranges::upper_bound(sums_, target);
    return {*std::prev(above), above == sums_.end() ? std::nullopt : std::optional(*above)};
}

// Fills in sets_.
void SubsetSum::divide(std::span<const NumberSet> sets, Units divisor) {
    sets_.assign(sets.begin(), sets.end());
    if (divisor == 1) return;
    numbers_.clear();
    for (const NumberSet set : sets) numbers_.insert(numbers_.end(), set.begin(), set.end());
    for (Units& number : numbers_) number /= divisor;
    const Units* first = numbers_.data();
    for (NumberSet& set : sets_) {
        set = {first, set.size()};
        first += set.size();
    }
}

bool SubsetSum::choose(std::span<const NumberSet> sets, Units target, std::vector<Units>* choice) {
    const Units divisor = common_divisor(sets);
    if (target % divisor != 0) return false;
    target /= divisor;
    divide(sets, divisor);
    order_.resize(sets.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (target >= 64) {  // intervals appear early where sets of small gaps come first
        gaps_.clear();
        for (const NumberSet set : sets_) gaps_.push_back(largest_gap(set));
        std::ranges::sort(order_, [&](auto a, auto b) { return gaps_[a] < gaps_[b]; });
    }
    if (choice) choice->assign(sets.size(), 0);
    std::vector<ListedSums> lists;
    const bool possible = target <= kLongestRow ? search(bits_, target, choice) : search(lists, target, choice);
    if (possible && choice)
        for (Units& number : *choice) number *= divisor;
    return possible;
}

template <typename Sums>
bool SubsetSum::search(std::vector<Sums>& sums, Units target, std::vector<Units>* choice) {
    if (sets_.empty()) return target == 0;
    if (sums.size() < sets_.size()) sums.resize(sets_.size());
    for (std::size_t stage = 0;; ++stage) {
        for (const Units number : set(stage))
            if (sums[stage].contains(target - number)) {
                if (choice) backtrack(sums, stage + 1, target, choice);
                return true;
            }
        if (stage + 1 == sets_.size()) return false;
        sums[stage + 1].assign(sums[stage], set(stage), target);
        if (target >= 64 && lengthen_interval(sums, stage + 1, target, choice)) return true;
    }
}

// Numbers of the first `stages` sets that add up to `sum`.
template <typename Sums>
void SubsetSum::backtrack(const std::vector<Sums>& sums, std::size_t stages, Units sum, std::vector<Units>* choice) {
    while (stages-- > 0) {
        const NumberSet numbers = set(stages);
        const auto chosen =
            std::ranges::find_if(numbers, [&](Units number) { return sums[stages].contains(sum - number); });
        (*choice)[order_[stages]] = *chosen;
        sum -= *chosen;
    }
}

// Whether an interval of the sums of the first `stages` sets, lengthened by the sets after them, contains the target. A
// set whose gaps are no longer than the interval [first, last] makes [first, last + its largest number] of it.
template <typename Sums>
bool SubsetSum::lengthen_interval(const std::vector<Sums>& sums, std::size_t stages, Units target,
                                  std::vector<Units>* choice) {
    auto [first, last] = sums[stages].interval(gaps_[order_[stages]]);
    std::size_t end = stages;
    while (end < sets_.size() && last < target && gaps_[order_[end]] <= last - first + 1) last += set(end++).back();
    if (target < first || target > last) return false;
    if (!choice) return true;
    while (end-- > stages) {
        const NumberSet numbers = set(end);
        last -= numbers.back();
        if (target <= last) continue;
        const Units number = *std::prev(std::ranges::upper_bound(numbers, target - first));
        (*choice)[order_[end]] = number;
        target -= number;
    }
    backtrack(sums, stages, target, choice);
    return true;
}

std::pair<Units, std::optional<Units>> SubsetSum::nearest(std::span<const NumberSet> sets, Units target) {
    const Units divisor = common_divisor(sets);
    divide(sets, divisor);
    target /= divisor;
    Units limit = target;  // one number more than needed brings a sum above the target
    for (const NumberSet set : sets_) limit = std::max(limit, target + set.back());
    const auto of = [&](auto sums) {
        for (const NumberSet set : sets_) {
            const auto before = std::move(sums);
            sums.assign(before, set, limit);
        }
        return sums.nearest(target);
    };
    auto [below, above] = limit <= kLongestRow ? of(BitSums()) : of(ListedSums());
    if (above) *above *= divisor;
    return {below * divisor, above};
}

}  // namespace apportion
