// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/assignment/ilp.hpp"

#include <algorithm>
#include <limits>

#include "policies/planners/assignment/ilp_serial.hpp"
#include "policies/planners/assignment/level_fill.hpp"
#include "policies/planners/assignment/relaxed_assignment.hpp"

namespace apportion {

namespace {

constexpr long kMostSteps = 20'000'000;  // on a serial network, about a second

/// Packets per unit from packets per node: within a node, the earliest finish.
std::vector<Units> spread(const AssignmentPlatform& platform, std::span<const Units> of_node) {
    std::vector<Units> packets(platform.problem.units.size(), 0);
    for (std::size_t i = 0; i < of_node.size(); ++i) {
        std::vector<FillUnit> units;
        for (const std::size_t j : platform.units_of[i])
            units.push_back(
                {platform.problem.units[j].seconds_per_packet, platform.problem.units[j].maximum_packets, 0});
        const std::vector<Units> given = level_fill(units, std::vector<Units>{kNoLimit}, of_node[i]);
        for (std::size_t k = 0; k < given.size(); ++k) packets[platform.units_of[i][k]] = given[k];
    }
    return packets;
}

std::vector<Units> solve_parallel(const AssignmentPlatform& platform) {
    const DataAssignment& problem = platform.problem;
    std::vector<Units> best;
    double low_s = relaxed_parallel(platform), high_s = std::numeric_limits<double>::infinity();
    auto attempt = [&](double finish_s) {
        std::vector<Units> of_node(problem.nodes.size());
        Units left = problem.packets;
        for (std::size_t i = 0; i < of_node.size(); ++i) {
            const double budget_s = finish_s - 2 * problem.nodes[i].startup_s;
            of_node[i] = std::min(left, whole_capacity(platform, i, budget_s));
            left -= of_node[i];
        }
        if (left > 0) return false;
        std::vector<Units> packets = spread(platform, of_node);
        const double seconds = makespan(problem, packets);
        if (seconds < high_s) {
            high_s = seconds;
            best = std::move(packets);
        }
        high_s = std::min(high_s, finish_s);
        return true;
    };
    double step_s = low_s * 1e-6 + std::numeric_limits<double>::min();
    for (double finish_s = low_s + step_s; !attempt(finish_s); finish_s = low_s + step_s) {
        low_s = finish_s;
        step_s *= 4;
    }
    while (high_s - low_s > high_s * 1e-14) {
        const double middle_s = low_s + (high_s - low_s) / 2;
        if (!(middle_s > low_s && middle_s < high_s)) break;
        if (!attempt(middle_s)) low_s = middle_s;
    }
    return best;
}

}  // namespace

Plan plan_ilp(const DataAssignment& problem) {
    Plan plan;
    plan.failure = why_impossible(problem);
    if (!plan.failure.empty()) return plan;
    std::vector<Units> packets(problem.units.size(), 0);
    double lower_bound_s = std::numeric_limits<double>::infinity();  // that is, proven to be optimal
    if (problem.packets > 0) {
        const AssignmentPlatform platform(in_granules(problem));
        if (problem.network == Network::serial) {
            const SerialAssignment best = assign_serial(platform, kMostSteps);
            packets = spread(platform, best.of_node);
            if (!best.proven) lower_bound_s = relaxed_bound(problem);
        } else {
            packets = solve_parallel(platform);
        }
    }
    finish_assignment(problem, in_packets(std::move(packets), problem), lower_bound_s, plan);
    return plan;
}

}  // namespace apportion
