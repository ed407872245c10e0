// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The search of `hpopta` (README.md in this folder), for one number of units after another on the same time functions.
// Shared by the planners that solve the same problem: hpopta, two-level.
#pragma once

#include <span>
#include <vector>

#include "policies/planners/hpopta/envelopes.hpp"
#include "policies/planners/hpopta/nearest.hpp"
#include "policies/planners/hpopta/subset_sum.hpp"

namespace apportion {

/// The functions throw std::length_error where sizes without any regularity have too many sums to be kept.
class HpoptaSearch {
  public:
    /// The times must outlive the search.
    explicit HpoptaSearch(std::span<const SizeTimes> processors) : envelopes_(processors) {}

    /// For many numbers of units: each is cheaper then, at the cost of sorting.
    void prepare() { envelopes_.prepare(); }

    /// The smallest makespan of exactly `units` >= 0 units; infinity when no sizes add up to them.
    double makespan_s(Units units);

    /// A distribution of that makespan; empty when there is none. Which one: see hpopta.hpp. `previous` has a share for
    /// each processor or is empty.
    std::vector<Units> distribute(Units units, std::span<const Units> previous = {});

  private:
    struct Point {
        Units size;
        double seconds;
    };
    struct Lane {
        std::size_t begin, end;  ///< gathered points
        std::size_t end_within;  ///< up to the largest size within tau, or begin
        Units largest;           ///< that size, or 0
    };

    bool gather(Units units, double tau);
    void narrow(double tau);
    Units find_slack(double tau);
    NumberSet list_deficits(const Lane& lane, double tau, Units slack, Units* numbers) const;
    bool attainable(double tau, std::vector<Units>* deficits = nullptr);
    double bound();
    double first_attainable(double below, double above);
    std::vector<Units> shares(double tau);
    std::vector<Units> with_fastest_others(double makespan);
    std::vector<std::vector<ShareOption>> options() const;

    Envelopes envelopes_;
    Units units_ = 0;            ///< to distribute over the points gathered
    std::vector<Lane> lanes_;    ///< of the processors
    std::vector<Point> points_;  ///< the first count_: those gathered, lane after lane, sizes ascending
    std::size_t count_ = 0;
    std::minstd_rand random_;
    std::vector<std::pair<double, std::size_t>> latest_;  ///< times of the largest sizes, and their lanes
    std::vector<double> times_;
    std::vector<Units> numbers_;
    std::vector<NumberSet> sets_;
    SubsetSum subset_sum_;
};

}  // namespace apportion
