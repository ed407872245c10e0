// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta_sumset.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

#include "policies/planners/hpopta_masks.hpp"
#include "policies/planners/hpopta_sums.hpp"

namespace apportion {

namespace {

using ShortSums = MaskSums<1>;

constexpr Units kLongestRow = Units{1} << 31;  // bits, 256 MiB

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

/// Sets divided by a number; equal sets (by address) once.
class DividedSets {
  public:
    DividedSets(std::span<const NumberSet> sets, Units divisor) : sets_(sets.begin(), sets.end()) {
        if (divisor == 1) return;
        std::size_t total = 0;
        for (const NumberSet set : sets) total += set.size();
        numbers_.reserve(total);  // so that the spans stay
        for (std::size_t i = 0; i < sets.size(); ++i) {
            if (i > 0 && sets[i].data() == sets[i - 1].data()) {
                sets_[i] = sets_[i - 1];
                continue;
            }
            const std::size_t begin = numbers_.size();
            for (const Units number : sets[i]) numbers_.push_back(number / divisor);
            sets_[i] = {numbers_.data() + begin, sets[i].size()};
        }
    }
    std::span<const NumberSet> sets() const { return sets_; }

  private:
    std::vector<NumberSet> sets_;
    std::vector<Units> numbers_;
};

Units largest_gap(NumberSet set) {
    Units gap = 0;
    for (std::size_t k = 1; k < set.size(); ++k) gap = std::max(gap, set[k] - set[k - 1]);
    return gap;
}

/// The search over sets in order of their largest gap, so that intervals appear early.
template <typename Sums>
class Search {
  public:
    Search(std::span<const NumberSet> sets, Units target) : sets_(sets), target_(target) {
        for (std::size_t i = 0; i < sets.size(); ++i) {
            const bool as_before = i > 0 && sets[i].data() == sets[i - 1].data();
            gaps_.push_back(as_before ? gaps_.back() : largest_gap(sets[i]));
        }
        order_.resize(sets.size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::stable_sort(order_.begin(), order_.end(), [&](auto a, auto b) { return gaps_[a] < gaps_[b]; });
    }

    bool run(std::vector<Units>* choice) {
        if (sets_.empty()) return target_ == 0;
        choice_ = choice;
        if (choice_) choice_->assign(sets_.size(), 0);
        Sums sums(set(0), target_);
        for (std::size_t stage = 1;; ++stage) {
            if (stage == order_.size()) return sums.contains(target_) && finish(sums, target_);
            for (const Units number : set(stage))
                if (sums.contains(target_ - number)) {
                    choose(stage, number);
                    return finish(sums, target_ - number);
                }
            if (stage + 1 == order_.size()) return false;
            if (lengthen_interval(sums, stage)) return true;
            Sums next = sums.plus(set(stage), target_);
            if (choice_) history_.push_back(std::move(sums));
            sums = std::move(next);
        }
    }

  private:
    NumberSet set(std::size_t stage) const { return sets_[order_[stage]]; }
    void choose(std::size_t stage, Units number) {
        if (choice_) (*choice_)[order_[stage]] = number;
    }

    /// Numbers of the sets that are in `sums`, the sums after history_.
    bool finish(const Sums&, Units sum) {
        if (!choice_) return true;
        for (std::size_t stage = history_.size(); stage > 0; --stage) {
            const Sums& before = history_[stage - 1];
            const NumberSet numbers = set(stage);
            const auto chosen = std::find_if(numbers.begin(), numbers.end(),
                                             [&](Units number) { return before.contains(sum - number); });
            choose(stage, *chosen);
            sum -= *chosen;
        }
        choose(0, sum);
        return true;
    }

    /// Whether an interval of the sums, lengthened by the sets from `stage` on, contains the target. A set whose gaps
    /// are no longer than the interval [first, last] makes [first, last + its largest number] of it.
    bool lengthen_interval(const Sums& sums, std::size_t stage) {
        const auto [first, last] = sums.longest_interval();
        std::vector<Units> ends = {last};
        for (std::size_t k = stage; k < order_.size() && ends.back() < target_; ++k) {
            if (gaps_[order_[k]] > ends.back() - first + 1) break;
            ends.push_back(ends.back() + set(k).back());
        }
        if (target_ < first || target_ > ends.back()) return false;
        if (!choice_) return true;
        Units sum = target_;
        for (std::size_t k = ends.size() - 1; k > 0; --k) {
            if (sum <= ends[k - 1]) continue;
            const NumberSet numbers = set(stage + k - 1);
            const Units number = *std::prev(std::upper_bound(numbers.begin(), numbers.end(), sum - first));
            choose(stage + k - 1, number);
            sum -= number;
        }
        return finish(sums, sum);
    }

    std::span<const NumberSet> sets_;
    Units target_;
    std::vector<Units> gaps_;
    std::vector<std::size_t> order_;
    std::vector<Sums> history_;  ///< sums before stage 1, 2, ...; only when a choice is wanted
    std::vector<Units>* choice_ = nullptr;
};

bool choose_by_masks(std::span<const NumberSet> sets, Units target, Units divisor, std::vector<Units>* choice) {
    const Units sum = target / divisor;
    ShortSums sums;
    sums.clear(sets.size());
    for (std::size_t i = 0; i < sets.size() && !sums.contains(sum); ++i) {
        ShortSums::Mask mask;
        for (const Units number : sets[i])
            if (number <= target) mask.insert_if(true, number / divisor);
        sums.add(mask);
    }
    if (!sums.contains(sum)) return false;
    if (!choice) return true;
    choice->assign(sets.size(), 0);
    sums.choose(sum, *choice);
    return true;
}

template <typename Sums>
std::pair<Units, std::optional<Units>> nearest(std::span<const NumberSet> sets, Units target, Units limit) {
    Sums sums(sets[0], limit);
    for (const NumberSet set : sets.subspan(1)) sums = sums.plus(set, limit);
    return {sums.at_most(target), sums.above(target)};
}

}  // namespace

bool choose_sum(std::span<const NumberSet> sets, Units target, std::vector<Units>* choice) {
    const Units divisor = common_divisor(sets);
    if (target % divisor != 0) return false;
    const Units divided_target = target / divisor;
    bool possible = false;
    if (divided_target < ShortSums::kEnd) {
        possible = choose_by_masks(sets, target, divisor, choice);
    } else {
        const DividedSets divided(sets, divisor);
        possible = divided_target <= kLongestRow ? Search<BitSums>(divided.sets(), divided_target).run(choice)
                                                 : Search<SortedSums>(divided.sets(), divided_target).run(choice);
    }
    if (possible && choice)
        for (Units& number : *choice) number *= divisor;
    return possible;
}

std::pair<Units, std::optional<Units>> nearest_sums(std::span<const NumberSet> sets, Units target) {
    const Units divisor = common_divisor(sets);
    const DividedSets divided(sets, divisor);
    target /= divisor;
    Units largest = 0;  // one number more than needed brings a sum above the target
    for (const NumberSet set : divided.sets()) largest = std::max(largest, set.back());
    const Units limit = target + largest;
    auto [below, above] = limit <= kLongestRow ? nearest<BitSums>(divided.sets(), target, limit)
                                               : nearest<SortedSums>(divided.sets(), target, limit);
    if (above) *above *= divisor;
    return {below * divisor, above};
}

}  // namespace apportion
