// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/ilp.hpp"

#include <algorithm>
#include <limits>
#include <queue>

#include "policies/planners/level_fill.hpp"
#include "policies/planners/relaxed_assignment.hpp"

namespace apportion {

namespace {

constexpr long kMostSteps = 20'000'000;  // of the sweep, about two seconds

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

/// The serial network at a compute time that only falls: rooms of the units, and the cheapest links filled.
class SerialFilling {
  public:
    SerialFilling(const AssignmentPlatform& platform, double compute_s)
        : platform_(platform), nodes_(platform.by_link.size()), room_(platform.problem.units.size()) {
        std::vector<std::size_t> position(nodes_.size());
        for (std::size_t k = 0; k < nodes_.size(); ++k) position[platform.by_link[k]] = k;
        for (std::size_t j = 0; j < room_.size(); ++j) {
            const AssignmentUnit& unit = platform.problem.units[j];
            room_[j] = packets_within(compute_s, unit.seconds_per_packet, unit.maximum_packets);
            Node& node = nodes_[position[unit.node]];
            node.room += room_[j];
            position_of_.push_back(position[unit.node]);
            if (room_[j] > 0) longest_.emplace(seconds(j), j);
        }
        Units left = platform.problem.packets;
        for (std::size_t k = 0; k < nodes_.size(); ++k) {
            nodes_[k].packets = std::min(left, capacity(k));
            left -= nodes_[k].packets;
            transfer_s_ += static_cast<double>(nodes_[k].packets) * link_s(k);
            if (left == 0 && nodes_[k].packets > 0) last_ = k;
        }
        feasible_ = left == 0;
    }

    bool feasible() const { return feasible_; }
    double compute_s() const { return longest_.empty() ? 0 : longest_.top().first; }
    double total_s() const { return compute_s() + transfer_s_; }

    /// Takes the last packet off the unit that computes longest.
    void step() {
        const std::size_t j = longest_.top().second;
        longest_.pop();
        if (--room_[j] > 0) longest_.emplace(seconds(j), j);
        const std::size_t k = position_of_[j];
        --nodes_[k].room;
        if (nodes_[k].packets <= capacity(k)) return;
        // A packet moves from node k to the first link behind the full ones.
        while (last_ < nodes_.size() && (nodes_[last_].packets >= capacity(last_))) ++last_;
        feasible_ = last_ < nodes_.size();
        if (!feasible_) return;
        --nodes_[k].packets;
        ++nodes_[last_].packets;
        transfer_s_ += link_s(last_) - link_s(k);
    }

    std::vector<Units> packets_of_nodes() const {
        std::vector<Units> packets(nodes_.size());
        for (std::size_t k = 0; k < nodes_.size(); ++k) packets[platform_.by_link[k]] = nodes_[k].packets;
        return packets;
    }

  private:
    struct Node {
        Units room = 0;  ///< of its units
        Units packets = 0;
    };
    double seconds(std::size_t j) const {
        return static_cast<double>(room_[j]) * platform_.problem.units[j].seconds_per_packet;
    }
    const AssignmentNode& node(std::size_t k) const { return platform_.problem.nodes[platform_.by_link[k]]; }
    double link_s(std::size_t k) const { return node(k).seconds_per_packet; }
    Units capacity(std::size_t k) const { return std::min(nodes_[k].room, node(k).maximum_packets); }

    const AssignmentPlatform& platform_;
    std::vector<Node> nodes_;  ///< cheapest link first
    std::vector<Units> room_;
    std::vector<std::size_t> position_of_;
    std::priority_queue<std::pair<double, std::size_t>> longest_;
    std::size_t last_ = 0;  ///< the dearest link in use
    double transfer_s_ = 0;
    bool feasible_ = false;
};

struct Assignment {
    std::vector<Units> packets;
    double lower_bound_s;  ///< infinite: proven to be optimal
};

Assignment solve_serial(const AssignmentPlatform& platform) {
    const RelaxedSerial relaxed = relaxed_serial(platform);
    const double centre_s = relaxed.compute_s;
    // A first solution: some time above the relaxed optimum, where every unit has room for a packet more.
    double best_s = std::numeric_limits<double>::infinity(), best_compute_s = 0;
    auto consider = [&](double total_s, double compute_s) {
        if (total_s >= best_s) return;
        best_s = total_s;
        best_compute_s = compute_s;
    };
    double above_s = std::numeric_limits<double>::infinity();
    for (const AssignmentUnit& unit : platform.problem.units) above_s = std::min(above_s, unit.seconds_per_packet);
    for (int found = 0; found < 8; above_s *= 2) {
        const SerialFilling filling(platform, centre_s + above_s);
        if (!filling.feasible()) continue;
        consider(filling.total_s(), filling.compute_s());
        ++found;
    }
    // No C beyond `last_s` and none below `first_s` can be better.
    auto may_hold = [&](double compute_s) {
        const SerialValue value = relaxed_serial_at(platform, compute_s);
        return value.feasible && value.seconds <= best_s * (1 + 1e-12);
    };
    double last_s = centre_s, beyond_s = best_s * (1 + 1e-9);
    double first_s = centre_s, below_s = 0;
    for (int step = 0; step < 40; ++step) {
        const double right_s = (last_s + beyond_s) / 2, left_s = (first_s + below_s) / 2;
        (may_hold(right_s) ? last_s : beyond_s) = right_s;
        (may_hold(left_s) ? first_s : below_s) = left_s;
    }
    // Where C + V(C) is flat the interval is as wide as all of n: ends at the bound, or at a number of steps.
    const double good_s = (relaxed.bound_s - platform.startups_s) * (1 + 1e-13);
    long steps = 0;
    SerialFilling filling(platform, beyond_s);
    for (; filling.feasible() && filling.compute_s() >= below_s && best_s > good_s && steps < kMostSteps; ++steps) {
        consider(filling.total_s(), filling.compute_s());
        if (filling.compute_s() <= 0) break;
        filling.step();
    }
    return {spread(platform, SerialFilling(platform, best_compute_s).packets_of_nodes()),
            steps < kMostSteps ? std::numeric_limits<double>::infinity() : relaxed.bound_s};
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
    plan.algorithm = "ilp";
    plan.failure = why_impossible(problem);
    if (!plan.failure.empty()) return plan;
    Assignment best = {std::vector<Units>(problem.units.size(), 0), std::numeric_limits<double>::infinity()};
    if (problem.packets > 0) {
        const AssignmentPlatform platform(in_granules(problem));
        if (problem.network == Network::kSerial)
            best = solve_serial(platform);
        else
            best.packets = solve_parallel(platform);
    }
    finish_assignment(problem, in_packets(std::move(best.packets), problem), best.lower_bound_s, plan);
    return plan;
}

}  // namespace apportion
