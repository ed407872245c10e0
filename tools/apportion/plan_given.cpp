// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/plan_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "models/piecewise_linear.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

constexpr const char* kGiven = "given";

/// Measured, or by the speed between the measured sizes, as other plans are judged.
double seconds_of(const DiscreteTimes& times, Units units) {
    if (units == 0) return 0;
    const auto found = std::ranges::lower_bound(times.points, units);
    if (found != times.points.end() && *found == units)
        return times.seconds[static_cast<std::size_t>(found - times.points.begin())];
    std::vector<BlockTime> samples;
    for (std::size_t k = 0; k < times.points.size(); ++k)
        samples.push_back({static_cast<double>(times.points[k]), times.seconds[k]});
    return PiecewiseLinear::through(samples, PiecewiseLinear::Shape::as_measured)->seconds(static_cast<double>(units));
}

}  // namespace

std::vector<Units> parse_shares(const std::string& text, const std::vector<std::string>& processors) {
    std::vector<Units> shares;
    for (const std::string_view word : split(text, ',')) {
        const auto units = parse_number<Units>(word);
        if (!units || *units < 0 || *units > kMostUnits)
            throw UserError("--shares: {} is no share; give whole numbers from 0 to 2^50",
                            in_quotes(std::string(word)));
        shares.push_back(*units);
    }
    if (shares.size() != processors.size())
        throw UserError("--shares: has {}, but there {} {}: {}", counted(shares.size(), "number"),
                        is_or_are(processors.size()), counted(processors.size(), "processor"),
                        fmt::join(processors, ", "));
    return shares;
}

Plan given_plan(const PlanProblem& problem, const std::vector<Units>& shares) {
    Plan plan;
    plan.algorithm = kGiven;
    plan.shares = shares;
    for (std::size_t i = 0; i < shares.size(); ++i)
        plan.times_s.push_back(seconds_of(problem.processors[i], shares[i]));
    plan.makespan_s = std::ranges::max(plan.times_s);
    return plan;
}

Plan given_plan(const DataAssignment& problem, const std::vector<Units>& shares) {
    Plan plan;
    plan.algorithm = kGiven;
    DataAssignment whole = problem;
    whole.packets = std::accumulate(shares.begin(), shares.end(), Units{0});
    for (AssignmentNode& node : whole.nodes) node.maximum_packets = kNoLimit;
    for (AssignmentUnit& unit : whole.units) unit.maximum_packets = kNoLimit;
    finish_assignment(whole, shares, 0, plan);
    return plan;
}

}  // namespace apportion
