// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/plan_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

constexpr const char* kGiven = "given";

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
        throw UserError("--shares: has {} numbers, but there are {} processors: {}", shares.size(), processors.size(),
                        fmt::join(processors, ", "));
    return shares;
}

Plan given_plan(const PlanProblem& problem, const std::vector<Units>& shares) {
    Plan plan;
    plan.algorithm = kGiven;
    plan.shares = shares;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const DiscreteTimes& times = problem.processors[i];
        const auto found = std::ranges::lower_bound(times.points, shares[i]);
        const bool measured = found != times.points.end() && *found == shares[i];
        if (shares[i] > 0 && !measured)
            throw UserError("--shares: {} units of {} were not measured; give a size that the profile has", shares[i],
                            in_quotes(times.processor));
        plan.times_s.push_back(measured ? times.seconds[static_cast<std::size_t>(found - times.points.begin())] : 0.0);
    }
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
