// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether n units can be distributed within tau. Each processor starts from its largest size M_i(tau); together that is
// n plus a slack, and each gives back a deficit M_i - x_i for a size x_i within tau, so that the deficits add up to the
// slack. Near the bound the slack is small whatever the size of the problem, hence so is the subset sum. Where n is
// smaller than the slack the sizes themselves are added up to n. Sizes that are multiples of a power of two, as of
// Fourier transforms, are counted in that power.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "policies/planners/hpopta_envelopes.hpp"
#include "policies/planners/hpopta_masks.hpp"
#include "policies/planners/hpopta_sumset.hpp"
#include "policies/planners/hpopta_ties.hpp"

namespace apportion {

/// Memory that grows and is not initialised: clearing it would cost as much as using it.
template <typename T>
class Scratch {
  public:
    T* at_least(std::size_t count) {
        if (count > count_) data_ = std::make_unique_for_overwrite<T[]>(count_ = count);
        return data_.get();
    }

  private:
    std::unique_ptr<T[]> data_;
    std::size_t count_ = 0;
};

class Deficits {
  public:
    explicit Deficits(Envelopes& envelopes) : envelopes_(envelopes) {}

    /// Gathers the sizes that a distribution of `units` (at most the envelopes' capacity) within tau can contain: only
    /// these are looked at from here on.
    void gather(Units units, double tau);

    /// Forgets the sizes that take longer than tau.
    void narrow(double tau);

    std::size_t gathered() const { return points_.size(); }

    struct Share {
        std::size_t processor;
        Units units;
    };

    /// The gathered sizes that take exactly `seconds`.
    std::vector<Share> taking(double seconds) const;

    /// All gathered sizes of each processor, and 0 units.
    std::vector<std::vector<ShareOption>> options() const;

    /// Gives a processor its share for good: the question is now how to distribute the rest over the others, which is
    /// possible. The sizes gathered suffice for that. Not with copies.
    void fix(const Share& share);

    /// The smallest tau whose largest sizes add up to the units, which are more than 0.
    double bound();

    /// Whether there is a distribution within tau, at most that of gather().
    bool attainable(double tau) { return choose(tau, nullptr); }

    /// A distribution within tau, the copies of a processor side by side; empty when there is none.
    std::vector<Units> shares(double tau);

    /// Times > `above` of the gathered sizes.
    void collect_times(double above, std::vector<double>& times) const;

  private:
    using ShortSums = MaskSums<1>;
    using LongSums = MaskSums<8>;

    struct Point {
        Units size;  ///< in 2^shift_ units, as all below
        double seconds;
    };
    struct Lane {
        std::size_t begin, end;  ///< gathered points
        std::size_t end_within;  ///< up to the largest size within tau, or begin
        Units largest;           ///< that size, or 0
    };

    void count_in_twos();
    void step_down(Lane& lane, double tau) const;
    void find_largest(double tau);
    bool choose(double tau, std::vector<Units>* choice);
    template <typename Sums>
    bool choose_by_masks(Sums& sums, double tau, std::vector<Units>* choice) const;
    template <typename Mask>
    void list_deficits(const Lane& lane, double tau, Mask& mask) const;
    NumberSet list_deficits(const Lane& lane, double tau, Units* numbers) const;
    NumberSet list_sizes(const Lane& lane, double tau, Units* numbers) const;

    bool adds_sizes() const { return slack_ >= LongSums::kEnd && units_ < slack_; }

    Envelopes& envelopes_;
    int shift_ = 0;
    Units units_ = 0;
    Units slack_ = 0;  ///< of find_largest()
    std::vector<Lane> lanes_;
    Scratch<Point> point_scratch_;
    std::span<Point> points_;
    std::vector<std::pair<double, std::size_t>> latest_;  ///< times of the largest sizes, and their lanes
    ShortSums short_sums_;
    LongSums long_sums_;
    Scratch<Units> numbers_;
    std::vector<NumberSet> sets_;
};

}  // namespace apportion
