// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/discrete_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/io/text.hpp"
#include "policies/planners/hpopta/subset_sum.hpp"

namespace apportion {

namespace {

Units maximum_of(const PlanProblem& problem, std::size_t processor) {
    return problem.maximum_units.empty() ? kNoLimit : std::max<Units>(problem.maximum_units[processor], 0);
}

std::string why_invalid(const DiscreteTimes& times) {
    if (times.points.size() != times.seconds.size())
        return fmt::format("processor '{}' has {} and {}; give one time for each size", times.processor,
                           counted(times.points.size(), "size"), counted(times.seconds.size(), "time"));
    Units previous = 0;
    for (std::size_t k = 0; k < times.points.size(); ++k) {
        if (times.points[k] <= previous || times.points[k] > kMostUnits)
            return fmt::format("size {} of processor '{}' follows {}; sizes must ascend from 1 on, up to 2^50",
                               times.points[k], times.processor, previous);
        if (!(times.seconds[k] > 0) || !std::isfinite(times.seconds[k]))
            return fmt::format("processor '{}' takes {} s for {}; times must be positive", times.processor,
                               times.seconds[k], counted(times.points[k], "unit"));
        previous = times.points[k];
    }
    return {};
}

std::string settings_invalid(const PlanProblem& problem) {
    if (problem.granularity < 1)
        return fmt::format("the granularity is {}; it must be at least 1", problem.granularity);
    if (problem.granularity > kMostUnits)
        return fmt::format("the granularity is {}; it must be at most 2^50", problem.granularity);
    if (!problem.maximum_units.empty() && problem.maximum_units.size() != problem.processors.size())
        return fmt::format("{} maxima are given for {} processors; give one for each", problem.maximum_units.size(),
                           problem.processors.size());
    if (problem.processors.empty()) return "there is no processor";
    return {};
}

}  // namespace

std::string why_invalid(const PlanProblem& problem) {
    if (std::string reason = settings_invalid(problem); !reason.empty()) return reason;
    for (const DiscreteTimes& times : problem.processors)
        if (std::string reason = why_invalid(times); !reason.empty()) return reason;
    return {};
}

SizeTimes::SizeTimes(std::span<const Units> points, std::span<const double> seconds) : seconds_(seconds) {
    if (points.empty()) return;
    first_ = points.front();
    const bool consecutive = points.back() - first_ == static_cast<Units>(points.size()) - 1;
    if (!consecutive) points_ = points.data();
}

std::size_t SizeTimes::count_up_to(Units limit) const {
    if (limit >= largest()) return count();
    if (!points_) return static_cast<std::size_t>(std::max<Units>(limit - first_ + 1, 0));
    return apportion::count_up_to(std::span(points_, count()), limit);
}

DiscreteProblem::DiscreteProblem(const PlanProblem& problem, Units limit) : problem_(problem) {
    failure_ = settings_invalid(problem);
    if (!failure_.empty()) return;
    processors_.reserve(problem.processors.size());
    for (std::size_t i = 0; i < problem.processors.size(); ++i) {
        const DiscreteTimes& times = problem.processors[i];
        SizeTimes sizes(times.points, times.seconds);
        sizes.keep_first(sizes.count_up_to(std::min(limit, maximum_of(problem, i))));
        if (problem.granularity > 1) sizes = keep_multiples(sizes);
        processors_.push_back(sizes);
    }
}

SizeTimes DiscreteProblem::keep_multiples(const SizeTimes& sizes) {
    DiscreteTimes& kept = filtered_.emplace_front();
    for (std::size_t k = 0; k < sizes.count(); ++k) {
        if (sizes.size(k) % problem_.granularity != 0) continue;
        kept.points.push_back(sizes.size(k));
        kept.seconds.push_back(sizes.seconds(k));
    }
    return {kept.points, kept.seconds};
}

std::string DiscreteProblem::why_impossible(Units units) const {
    if (!failure_.empty()) return failure_;
    if (units < 0 || units > kMostUnits)
        return fmt::format("{} units cannot be distributed; give a number from 0 to 2^50", units);
    if (units % problem_.granularity != 0)
        return with_nearest(fmt::format("{} {} no multiple of the granularity {}", counted(units, "unit"),
                                        is_or_are(units), problem_.granularity),
                            units);
    if (units <= capacity()) return {};
    const Units most = DiscreteProblem(problem_, kNoLimit).capacity();
    if (units <= most) return why_unreachable(units);
    return fmt::format("{} {} more than all processors may take; the nearest number that can be distributed is {}",
                       counted(units, "unit"), is_or_are(units), most);
}

Units DiscreteProblem::capacity() const {
    Units sum = 0;
    for (const SizeTimes& processor : processors_) sum += processor.largest();
    return sum;
}

std::string DiscreteProblem::why_unreachable(Units units) const {
    return with_nearest("no measured sizes add up to " + counted(units, "unit"), units);
}

// Sizes beyond the limit of this problem may be the nearest, so it starts from the whole one.
std::string DiscreteProblem::with_nearest(const std::string& reason, Units units) const {
    const DiscreteProblem whole(problem_, kNoLimit);
    std::vector<std::vector<Units>> sizes;
    for (const SizeTimes& processor : whole.processors_) {
        std::vector<Units>& set = sizes.emplace_back(1, 0);
        // one size beyond `units` is enough: the sums up to it lie no further apart than that
        for (std::size_t k = 0; k < processor.count() && set.back() <= units; ++k) set.push_back(processor.size(k));
    }
    const std::vector<NumberSet> sets(sizes.begin(), sizes.end());
    try {
        const auto [below, above] = SubsetSum().nearest(sets, units);
        const bool choose_above = above && (below == 0 || *above - units < units - below);
        return fmt::format("{}; the nearest number that can be distributed is {}", reason,
                           choose_above ? *above : below);
    } catch (const std::length_error&) {
        return reason + "; which numbers can be distributed is too long to compute, so give a coarser granularity";
    }
}

void finish_optimal(Plan& plan, const DiscreteProblem& problem) {
    plan.times_s.resize(plan.shares.size());
    for (std::size_t i = 0; i < plan.shares.size(); ++i)
        plan.times_s[i] = problem.processors()[i].seconds_for(plan.shares[i]);
    plan.makespan_s = *std::ranges::max_element(plan.times_s);
    plan.lower_bound_s = plan.makespan_s;
    plan.optimal = true;
}

}  // namespace apportion
