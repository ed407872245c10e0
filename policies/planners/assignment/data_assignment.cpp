// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/assignment/data_assignment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "policies/planners/assignment/relaxed_assignment.hpp"

namespace apportion {

namespace {

/// Packets that all nodes may take together, in multiples of the granularity; cut off at the largest number there is.
Units total_capacity(const DataAssignment& problem) {
    auto add = [](Units a, Units b) { return b > kNoLimit - a ? kNoLimit : a + b; };
    auto whole = [&](Units most) { return std::max<Units>(most, 0) / problem.granularity * problem.granularity; };
    std::vector<Units> room(problem.nodes.size(), 0);
    for (const AssignmentUnit& unit : problem.units)
        room[unit.node] = add(room[unit.node], whole(unit.maximum_packets));
    Units total = 0;
    for (std::size_t i = 0; i < room.size(); ++i)
        total = add(total, std::min(room[i], whole(problem.nodes[i].maximum_packets)));
    return total;
}

/// Seconds in which the packets of each node and their results travel.
std::vector<double> transfers_s(const DataAssignment& problem, std::span<const Units> packets) {
    std::vector<double> seconds(problem.nodes.size(), 0);
    for (std::size_t j = 0; j < packets.size(); ++j) seconds[problem.units[j].node] += static_cast<double>(packets[j]);
    for (std::size_t i = 0; i < seconds.size(); ++i)
        seconds[i] = 2 * problem.nodes[i].startup_s + problem.nodes[i].seconds_per_packet * seconds[i];
    return seconds;
}

}  // namespace

std::string why_impossible(const DataAssignment& problem) {
    if (problem.packets < 0 || problem.packets > kMostUnits)
        return fmt::format("{} packets cannot be assigned; give a number from 0 to 2^50", problem.packets);
    if (problem.granularity < 1)
        return fmt::format("the granularity is {}; it must be at least 1", problem.granularity);
    return why_not_whole(problem.packets, problem.granularity, total_capacity(problem),
                         {"packet", "the limits allow", "assigned"});
}

double makespan(const DataAssignment& problem, std::span<const Units> packets) {
    std::vector<double> computing_s(problem.nodes.size(), 0);
    for (std::size_t j = 0; j < packets.size(); ++j) {
        const AssignmentUnit& unit = problem.units[j];
        computing_s[unit.node] =
            std::max(computing_s[unit.node], static_cast<double>(packets[j]) * unit.seconds_per_packet);
    }
    const std::vector<double> travelling_s = transfers_s(problem, packets);
    double network_s = 0, longest_s = 0, longest_computing_s = 0;
    for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
        network_s += travelling_s[i];
        longest_computing_s = std::max(longest_computing_s, computing_s[i]);
        longest_s = std::max(longest_s, travelling_s[i] + computing_s[i]);
    }
    return problem.network == Network::serial ? network_s + longest_computing_s : longest_s;
}

void finish_assignment(const DataAssignment& problem, std::vector<Units> packets, double lower_bound_s, Plan& plan) {
    plan.shares = std::move(packets);
    plan.times_s.clear();
    plan.ends_s.clear();
    const std::vector<double> travelling_s = transfers_s(problem, plan.shares);
    const double network_s = std::accumulate(travelling_s.begin(), travelling_s.end(), 0.0);
    for (std::size_t j = 0; j < plan.shares.size(); ++j) {
        plan.times_s.push_back(static_cast<double>(plan.shares[j]) * problem.units[j].seconds_per_packet);
        const bool serial = problem.network == Network::serial;
        plan.ends_s.push_back((serial ? network_s : travelling_s[problem.units[j].node]) + plan.times_s.back());
    }
    plan.makespan_s = makespan(problem, plan.shares);
    plan.lower_bound_s = std::min(lower_bound_s, plan.makespan_s);
    plan.optimal = plan.makespan_s <= plan.lower_bound_s * (1 + 1e-12);
}

DataAssignment in_granules(const DataAssignment& problem) {
    DataAssignment scaled = problem;
    const Units g = problem.granularity;
    scaled.packets /= g;
    scaled.granularity = 1;
    for (AssignmentNode& node : scaled.nodes) {
        node.seconds_per_packet *= static_cast<double>(g);
        node.maximum_packets = std::clamp<Units>(node.maximum_packets / g, 0, scaled.packets);
    }
    for (AssignmentUnit& unit : scaled.units) {
        unit.seconds_per_packet *= static_cast<double>(g);
        unit.computing_per_packet_s *= static_cast<double>(g);
        unit.maximum_packets = std::clamp<Units>(unit.maximum_packets / g, 0, scaled.packets);
    }
    return scaled;
}

std::vector<Units> in_packets(std::vector<Units> granules, const DataAssignment& problem) {
    for (Units& units : granules) units *= problem.granularity;
    return granules;
}

double relaxed_bound(const DataAssignment& problem) {
    if (problem.packets <= 0) return makespan(problem, std::vector<Units>(problem.units.size(), 0));
    const AssignmentPlatform platform(in_granules(problem));
    return problem.network == Network::serial ? relaxed_serial(platform).bound_s : relaxed_parallel(platform);
}

}  // namespace apportion
