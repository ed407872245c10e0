// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the planners with continuous time functions have in common: which shares are allowed, the way from real shares
// to whole ones, and how the outcome is judged. They plan with their own models, but every plan is judged by the
// measured times (speed interpolated between measured sizes), so that plans can be compared.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/piecewise_linear.hpp"
#include "policies/planners/planner.hpp"

namespace apportion {

/// Empty, or why no distribution exists, with the nearest number of units that can be distributed.
std::string why_impossible(const PlanProblem& problem);

class ContinuousProblem {
  public:
    /// `problem` must outlive it. O(points).
    explicit ContinuousProblem(const PlanProblem& problem);

    /// A plan, and why there is none where that is so.
    Plan begin() const;

    const PlanProblem& problem() const { return problem_; }
    std::size_t processors() const { return samples_.size(); }
    double units() const { return static_cast<double>(problem_.units); }

    /// Largest allowed share: a multiple of the granularity, at most n; 0 for a processor without measurement.
    std::span<const Units> limits() const { return limits_; }
    std::span<const BlockTime> samples(std::size_t processor) const { return samples_[processor]; }
    double measured_seconds(std::size_t processor, double units) const;

    /// Who may get the granules that rounding down leaves.
    enum class Rest { whoever_is_first, one_each };

    /// Whole shares from real ones (sum about n): rounded down, then the granules left over go one by one to the
    /// processor that finishes first with one more; `one_each`: at most one each while that suffices. Sum exactly n.
    /// O(p log p).
    std::vector<Units> round(std::span<const double> shares, Rest rest = Rest::whoever_is_first) const;

    /// Fills in shares, times, makespan, and the lower bound n / sum of the largest speeds.
    void finish(Plan& plan, std::vector<Units> shares) const;

  private:
    double largest_speed(std::size_t processor) const;

    const PlanProblem& problem_;
    std::vector<Units> limits_;
    std::vector<std::vector<BlockTime>> samples_;
    std::vector<std::optional<PiecewiseLinear>> measured_;
};

}  // namespace apportion
