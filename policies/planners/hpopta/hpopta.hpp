// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `hpopta`: the smallest makespan over arbitrary discrete time functions, exactly (the problem HPOPT of Khaleghzadeh,
// Reddy, Lastovetsky, section 3). Any processor may get nothing, a size may be missing, a larger size may take less
// time. README.md in this folder explains the method; the paper's branch and bound is `hpopta-published`.
//
// Which of the optimal distributions it takes is not told: those that do not bind may end later than they could.
//
// Good for every profile; near the cost of reading it where times grow roughly with sizes. On times without any order
// (every third size takes a hundred times longer) the subset sums get as long as n.
#pragma once

#include <random>
#include <span>
#include <vector>

#include "policies/planners/discrete_problem.hpp"
#include "policies/planners/hpopta/envelopes.hpp"
#include "policies/planners/hpopta/subset_sum.hpp"

namespace apportion {

/// A size that a processor may take, and its time.
struct SizeTime {
    Units size;
    double seconds;
};

/// For one number of units after another on the same time functions, without names and granularity. The functions throw
/// std::length_error where sizes without any regularity have too many sums to be kept.
class HpoptaSearch {
  public:
    /// The times must outlive the search. `for_many` numbers of units: each is cheaper then, at the cost of sorting.
    explicit HpoptaSearch(std::span<const SizeTimes> processors, bool for_many = false)
        : envelopes_(processors, for_many) {}

    /// The smallest makespan of exactly `units` >= 0 units; infinity when no sizes add up to them.
    double makespan_s(Units units);

    /// A distribution of that makespan, or empty.
    std::vector<Units> distribute(Units units);

  private:
    struct Lane {
        std::size_t begin, end;  ///< gathered points
        std::size_t end_within;  ///< up to the largest size within tau, or begin
        Units largest;           ///< that size, or 0
    };

    bool gather(Units units, double tau);
    void narrow(double tau);
    Units find_slack(double tau);
    Units step_down(Lane& lane, double tau) const;
    bool attainable(double tau, std::vector<Units>* deficits = nullptr);
    double first_attainable(double below);

    Envelopes envelopes_;
    Units units_ = 0;               ///< to distribute over the points gathered
    std::vector<Lane> lanes_;       ///< of the processors
    std::vector<SizeTime> points_;  ///< the first count_: those gathered, lane after lane, sizes ascending
    std::size_t count_ = 0;
    std::minstd_rand random_;
    std::vector<double> times_;
    std::vector<Units> numbers_;
    std::vector<NumberSet> sets_;
    SubsetSum subset_sum_;
};

/// `problem` must be valid (why_invalid in discrete_problem.hpp).
Plan plan_hpopta(const PlanProblem& problem);

/// Further n on the same profile, granularity and maxima: without reading the profile again.
class PreparedHpopta {
  public:
    /// `problem` must be valid and outlive it; its `units` are ignored.
    explicit PreparedHpopta(const PlanProblem& problem)
        : problem_(problem, kNoLimit), search_(problem_.processors(), true) {}

    Plan plan(Units units);

    /// The smallest makespan alone; infinity when there is no distribution.
    double makespan_s(Units units) { return search_.makespan_s(units); }

  private:
    DiscreteProblem problem_;
    HpoptaSearch search_;
};

/// Why a plan failed that met std::length_error.
inline constexpr const char* kTooManySums =
    "the sizes have too many different sums to compute an optimal distribution; give a coarser granularity or regular "
    "sizes";

}  // namespace apportion
