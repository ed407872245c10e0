// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A PlanProblem as the exact planners see it: the sizes that each processor may take once granularity and maxima are
// applied, and the sentences about problems that have no solution. Nothing is copied unless the granularity removes
// sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <forward_list>
#include <span>
#include <string>
#include <vector>

#include "policies/planners/planner.hpp"

namespace apportion {

/// How many of the ascending values are <= limit, as std::upper_bound, but without branches to mispredict.
template <typename T>
std::size_t count_up_to(std::span<const T> values, T limit) {
    const T* first = values.data();
    for (std::size_t count = values.size(); count > 0;) {
        const std::size_t half = (count + 1) / 2;
        first += half & -static_cast<std::size_t>(first[half - 1] <= limit);
        count -= half;
    }
    return static_cast<std::size_t>(first - values.data());
}

/// Sizes > 0 of one processor, ascending, with their times. Consecutive sizes, as of a profile in steps of one unit,
/// are recognised by their ends, so that the planner reads only the times.
class SizeTimes {
  public:
    SizeTimes() = default;
    SizeTimes(std::span<const Units> points, std::span<const double> seconds);

    std::size_t count() const { return seconds_.size(); }
    Units size(std::size_t k) const { return points_ ? points_[k] : first_ + static_cast<Units>(k); }
    double seconds(std::size_t k) const { return seconds_[k]; }
    std::span<const double> all_seconds() const { return seconds_; }
    Units largest() const { return count() == 0 ? 0 : size(count() - 1); }

    /// How many sizes are at most `limit`. O(log points), O(1) for consecutive sizes.
    std::size_t count_up_to(Units limit) const;

    /// How many of the first `end` sizes are less than `least`. O(those that are not), O(1) for consecutive sizes.
    std::size_t count_below(Units least, std::size_t end) const {
        if (!points_) return std::min(end, static_cast<std::size_t>(std::max<Units>(least - first_, 0)));
        while (end > 0 && points_[end - 1] >= least) --end;
        return end;
    }

    /// Time of a share: one of the sizes, or 0 units.
    double seconds_for(Units share) const { return share == 0 ? 0 : seconds_[count_up_to(share) - 1]; }

    /// Only the first `count` sizes.
    void keep_first(std::size_t count) { seconds_ = seconds_.first(count); }

  private:
    const Units* points_ = nullptr;  ///< nullptr: consecutive from first_ on
    Units first_ = 1;
    std::span<const double> seconds_;
};

/// Empty, or the first thing that is wrong with the problem itself: numbers out of range, vectors of unequal length,
/// sizes not ascending, times not positive. Reads all points; meant for problems that come from outside.
std::string why_invalid(const PlanProblem& problem);

class DiscreteProblem {
  public:
    /// Sizes up to `limit` units; `problem` must outlive it. O(processors) unless the granularity exceeds 1.
    DiscreteProblem(const PlanProblem& problem, Units limit);

    /// Empty when the problem's settings are wrong.
    std::span<const SizeTimes> processors() const { return processors_; }

    /// Empty, or why `units` cannot be distributed, as far as settings, granularity and the largest sizes tell, with
    /// the nearest number that can be. O(processors) when it is empty.
    std::string why_impossible(Units units) const;

    /// The same sentence for a number that proved to be no sum of sizes.
    std::string why_unreachable(Units units) const;

  private:
    Units capacity() const;
    SizeTimes keep_multiples(const SizeTimes& sizes);
    std::string with_nearest(const std::string& reason, Units units) const;

    const PlanProblem& problem_;
    std::string failure_;  ///< what is wrong with the settings
    std::vector<SizeTimes> processors_;
    std::forward_list<DiscreteTimes> filtered_;  ///< owns what the granularity left
};

/// Fills in times, makespan and proof of the shares of an optimal distribution.
void finish_optimal(Plan& plan, const DiscreteProblem& problem);

}  // namespace apportion
