// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/assignment/relaxed_assignment.hpp"

#include <algorithm>
#include <numeric>

#include "policies/planners/assignment/level_fill.hpp"

namespace apportion {

namespace {

constexpr int kMostSteps = 400;

/// Bisects between `low`, where `fits` is false, and `high`, where it is true, to the last bit.
template <typename Fits>
void bisect(double& low, double& high, Fits fits) {
    for (int step = 0; step < kMostSteps; ++step) {
        const double middle = low + (high - low) / 2;
        if (!(middle > low && middle < high)) return;
        (fits(middle) ? high : low) = middle;
    }
}

double most_packets(const AssignmentUnit& unit, double compute_s) {
    return std::min(compute_s / unit.seconds_per_packet, static_cast<double>(unit.maximum_packets));
}

/// A compute time in which every unit can take all packets.
double ample_seconds(const AssignmentPlatform& platform) {
    double slowest_s = 0;
    for (const AssignmentUnit& unit : platform.problem.units) slowest_s = std::max(slowest_s, unit.seconds_per_packet);
    return slowest_s * (static_cast<double>(platform.problem.packets) + 1);
}

}  // namespace

AssignmentPlatform::AssignmentPlatform(DataAssignment in_granules)
    : problem(std::move(in_granules)), units_of(problem.nodes.size()), by_link(problem.nodes.size()) {
    for (std::size_t j = 0; j < problem.units.size(); ++j) units_of[problem.units[j].node].push_back(j);
    std::iota(by_link.begin(), by_link.end(), std::size_t{0});
    std::ranges::stable_sort(by_link, [&](std::size_t a, std::size_t b) {
        return problem.nodes[a].seconds_per_packet < problem.nodes[b].seconds_per_packet;
    });
    for (const AssignmentNode& node : problem.nodes) startups_s += 2 * node.startup_s;
}

SerialValue relaxed_serial_at(const AssignmentPlatform& platform, double compute_s) {
    SerialValue value;
    value.seconds = compute_s;
    double left = static_cast<double>(platform.problem.packets);
    double growth = 0, weighted_growth = 0;  // of the packets on cheaper links as C grows
    for (const std::size_t i : platform.by_link) {
        const AssignmentNode& node = platform.problem.nodes[i];
        double room = 0, node_growth = 0;
        for (const std::size_t j : platform.units_of[i]) {
            const AssignmentUnit& unit = platform.problem.units[j];
            const double most = most_packets(unit, compute_s);
            room += most;
            if (most < static_cast<double>(unit.maximum_packets)) node_growth += 1 / unit.seconds_per_packet;
        }
        if (room >= static_cast<double>(node.maximum_packets)) {
            room = static_cast<double>(node.maximum_packets);
            node_growth = 0;
        }
        if (left <= room) {
            value.seconds += node.seconds_per_packet * left;
            value.slope = 1 - (node.seconds_per_packet * growth - weighted_growth);
            value.feasible = true;
            return value;
        }
        value.seconds += node.seconds_per_packet * room;
        left -= room;
        growth += node_growth;
        weighted_growth += node.seconds_per_packet * node_growth;
    }
    return value;
}

RelaxedSerial relaxed_serial(const AssignmentPlatform& platform) {
    double low = 0, high = ample_seconds(platform);
    bisect(low, high, [&](double c) {
        const SerialValue value = relaxed_serial_at(platform, c);
        return value.feasible && value.slope >= 0;
    });
    // Convex: right of `low` it lies above its tangent at `high`, left of `low` above its value there. (The tangent at
    // `low` is of no use: a packet's rounding error on a dear link would be in it.)
    const SerialValue right = relaxed_serial_at(platform, high);
    return {high, platform.startups_s + right.seconds + right.slope * (low - high)};
}

double relaxed_capacity(const AssignmentPlatform& platform, std::size_t node, double budget_s) {
    if (budget_s <= 0) return 0;
    const double link_s = platform.problem.nodes[node].seconds_per_packet;
    auto room = [&](double compute_s) {
        double sum = 0;
        for (const std::size_t j : platform.units_of[node]) sum += most_packets(platform.problem.units[j], compute_s);
        return std::min(sum, static_cast<double>(platform.problem.nodes[node].maximum_packets));
    };
    // More computing leaves less time for transfers: the most packets lie where both admit the same number.
    double low = 0, high = budget_s;
    bisect(low, high, [&](double c) { return room(c) * link_s + c >= budget_s; });
    return room(high);
}

Units whole_capacity(const AssignmentPlatform& platform, std::size_t node, double budget_s) {
    const Units most = platform.problem.nodes[node].maximum_packets;
    if (budget_s < 0) return 0;
    const double link_s = platform.problem.nodes[node].seconds_per_packet;
    auto room = [&](double compute_s) {
        Units sum = 0;
        for (const std::size_t j : platform.units_of[node]) {
            const AssignmentUnit& unit = platform.problem.units[j];
            sum += std::min(most - sum, packets_within(compute_s, unit.seconds_per_packet, unit.maximum_packets));
        }
        return sum;
    };
    auto travelling = [&](double compute_s) {
        return link_s > 0 ? packets_within(budget_s - compute_s, link_s, most) : most;
    };
    double low = 0, high = budget_s;
    if (room(high) <= travelling(high)) return room(high);
    bisect(low, high, [&](double c) { return room(c) > travelling(c); });
    return std::max(room(low), travelling(high));
}

double relaxed_parallel(const AssignmentPlatform& platform) {
    const auto packets = static_cast<double>(platform.problem.packets);
    auto fits = [&](double finish_s) {
        double capacity = 0;
        for (std::size_t i = 0; i < platform.problem.nodes.size(); ++i) {
            const double budget_s = finish_s - 2 * platform.problem.nodes[i].startup_s;
            if (budget_s < 0) return false;  // start-ups are paid by every node
            capacity += relaxed_capacity(platform, i, budget_s);
        }
        return capacity >= packets * (1 - 1e-14);
    };
    double low = 0, high = ample_seconds(platform) + platform.startups_s;
    for (const AssignmentNode& node : platform.problem.nodes) high += packets * node.seconds_per_packet;
    bisect(low, high, fits);
    return low;
}

}  // namespace apportion
