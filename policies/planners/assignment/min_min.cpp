// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The heuristics that Boinski and Czarnul compare with (section 4.4).
//  - `min-min`: packets go one by one to the unit that would finish first. Each unit's transfers are its own, in
//    parallel with all others, whatever the network of the problem: a packet takes w_N plus its computing. v1 knows
//    the computing alone, v2 start-up and clean-up as well (c_j).
//  - `proportional`: in proportion to the speed of the computing alone, no transfers. What memory limits cut off goes
//    to the other nodes in proportion.
// Their plans are judged by the same makespan as the optimal one.
#include "policies/planners/assignment/data_assignment.hpp"

#include <algorithm>
#include <queue>

#include "policies/planners/assignment/level_fill.hpp"
#include "policies/planners/continuous/proportional.hpp"

namespace apportion {

namespace {

Plan begin(const DataAssignment& problem) {
    Plan plan;
    plan.failure = why_impossible(problem);
    return plan;
}

Plan plan_min_min(const DataAssignment& problem, double AssignmentUnit::*computing) {
    Plan plan = begin(problem);
    if (!plan.failure.empty()) return plan;
    const DataAssignment scaled = in_granules(problem);
    std::vector<FillUnit> units;
    std::vector<Units> maxima;
    for (const AssignmentNode& node : scaled.nodes) maxima.push_back(node.maximum_packets);
    for (const AssignmentUnit& unit : scaled.units)
        units.push_back(
            {scaled.nodes[unit.node].seconds_per_packet + unit.*computing, unit.maximum_packets, unit.node});
    finish_assignment(problem, in_packets(level_fill(units, maxima, scaled.packets), problem), relaxed_bound(problem),
                      plan);
    return plan;
}

}  // namespace

Plan plan_min_min_v1(const DataAssignment& problem) {
    return plan_min_min(problem, &AssignmentUnit::computing_per_packet_s);
}

Plan plan_min_min_v2(const DataAssignment& problem) {
    return plan_min_min(problem, &AssignmentUnit::seconds_per_packet);
}

Plan plan_proportional(const DataAssignment& problem) {
    Plan plan = begin(problem);
    if (!plan.failure.empty()) return plan;
    const DataAssignment scaled = in_granules(problem);
    // Nodes share n by the speed of their units, then the units of a node share its packets.
    const std::size_t nodes = scaled.nodes.size();
    std::vector<std::vector<std::size_t>> members(nodes);
    std::vector<double> node_speed(nodes, 0), node_limit(nodes, 0);
    for (std::size_t j = 0; j < scaled.units.size(); ++j) {
        const AssignmentUnit& unit = scaled.units[j];
        members[unit.node].push_back(j);
        node_speed[unit.node] += 1 / unit.computing_per_packet_s;
        node_limit[unit.node] += static_cast<double>(unit.maximum_packets);
    }
    for (std::size_t i = 0; i < nodes; ++i)
        node_limit[i] = std::min(node_limit[i], static_cast<double>(scaled.nodes[i].maximum_packets));
    const std::vector<double> of_node =
        proportional_shares(node_speed, static_cast<double>(scaled.packets), node_limit);

    std::vector<double> shares(scaled.units.size(), 0);
    for (std::size_t i = 0; i < nodes; ++i) {
        std::vector<double> speeds, limits;
        for (const std::size_t j : members[i]) {
            speeds.push_back(1 / scaled.units[j].computing_per_packet_s);
            limits.push_back(static_cast<double>(scaled.units[j].maximum_packets));
        }
        const std::vector<double> own = proportional_shares(speeds, of_node[i], limits);
        for (std::size_t k = 0; k < own.size(); ++k) shares[members[i][k]] = own[k];
    }

    // Whole packets: rounded down, the rest to the largest fractions that have room.
    std::vector<Units> packets(shares.size());
    std::vector<Units> room(nodes);
    for (std::size_t i = 0; i < nodes; ++i) room[i] = scaled.nodes[i].maximum_packets;
    Units left = scaled.packets;
    std::priority_queue<std::pair<double, std::size_t>> fractions;
    for (std::size_t j = 0; j < shares.size(); ++j) {
        const AssignmentUnit& unit = scaled.units[j];
        packets[j] = std::min({packets_within(shares[j], 1, unit.maximum_packets), left, room[unit.node]});
        left -= packets[j];
        room[unit.node] -= packets[j];
        fractions.emplace(shares[j] - static_cast<double>(packets[j]), j);
    }
    while (left > 0) {
        const auto [fraction, j] = fractions.top();
        fractions.pop();
        const AssignmentUnit& unit = scaled.units[j];
        if (packets[j] >= unit.maximum_packets || room[unit.node] <= 0) continue;
        ++packets[j], --room[unit.node], --left;
        fractions.emplace(fraction - 1, j);
    }
    finish_assignment(problem, in_packets(std::move(packets), problem), relaxed_bound(problem), plan);
    return plan;
}

}  // namespace apportion
