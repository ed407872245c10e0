// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `ilp`: the optimal data assignment by the structure of the problem, without a solver.
// Boinski and Czarnul's solver took up to 7844 s on their instances. Given the compute time C, unit j has room for
// floor(C / c_j) packets, so
//  - serial network: the cheapest links are filled first, which gives the transfer time V(C). The relaxed C + V(C) is
//    convex and confines C to an interval, whose values k c_j are looked at.
//  - parallel network: bisection on T; within it, for every node, bisection on C for the most packets that fit.
// Exact up to rounding of T. The values are few unless C + V(C) is flat without reaching the relaxed bound, when there
// are up to n of them; after 20 million the best solution is taken and not called optimal.
#include "policies/planners/assignment/data_assignment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "policies/planners/assignment/level_fill.hpp"
#include "policies/planners/assignment/relaxed_assignment.hpp"

namespace apportion {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPacketsNearby = 1000;  // that are looked at first, around the relaxed optimum
constexpr long kMostSteps = 20'000'000;  // packets that are looked at on a serial network: about a second

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
    double low_s = relaxed_parallel(platform), high_s = kInfinity;
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

struct SerialAssignment {
    std::vector<Units> of_node;  ///< packets
    bool proven = false;         ///< to be optimal
};

/// On a serial network, exactly: T = start-ups + C + V(C), where C is the longest computing time and V(C) the cheapest
/// transfers that C leaves, the links filled from the cheapest on. Relaxed, C + V(C) is convex and confines C to an
/// interval around its minimum. Where the dearest link in use is W, the whole one is
///
///     C + w_W n - sum over the cheaper links k of (w_W - w_k) min(room of k's units within C, maximum of k),
///
/// which only ends of packets on these cheaper links can lower: they are looked at one by one. The interval is short
/// unless computing a packet takes about as long as it saves on the network, when it may be as long as all of n.
class SerialSearch {
  public:
    explicit SerialSearch(const AssignmentPlatform& platform)
        : platform_(platform),
          relaxed_(relaxed_serial(platform)),
          good_s_((relaxed_.bound_s - platform.startups_s) * (1 + 1e-13)) {}

    SerialAssignment run() {
        probe();
        double packets_per_s = 0;
        for (const AssignmentUnit& unit : platform_.problem.units) packets_per_s += 1 / unit.seconds_per_packet;
        const double nearby_s = kPacketsNearby / packets_per_s;
        auto [from_s, to_s] = interval();
        if (to_s - from_s > 2 * nearby_s) {
            const double centre_s = relaxed_.compute_s;
            search(std::max(from_s, centre_s - nearby_s), std::min(to_s, centre_s + nearby_s));
            std::tie(from_s, to_s) = interval();
        }
        search(from_s, to_s);
        return {fill(best_compute_s_).of_node, steps_left_ > 0 || done()};
    }

  private:
    struct Filling {
        std::vector<Units> of_node;
        double transfer_s = 0;
        double dearest_s = 0;  ///< per packet of the dearest link in use
        bool feasible = false;
    };

    const AssignmentNode& node(std::size_t i) const { return platform_.problem.nodes[i]; }
    bool done() const { return best_s_ <= good_s_; }

    Units room(std::size_t j, double compute_s) const {
        const AssignmentUnit& unit = platform_.problem.units[j];
        return packets_within(compute_s, unit.seconds_per_packet, unit.maximum_packets);
    }

    Units capacity(std::size_t i, double compute_s) const {
        Units sum = 0;
        for (const std::size_t j : platform_.units_of[i])
            sum += std::min(node(i).maximum_packets - sum, room(j, compute_s));
        return sum;
    }

    Filling fill(double compute_s) const {
        Filling filling;
        filling.of_node.assign(platform_.by_link.size(), 0);
        Units left = platform_.problem.packets;
        for (const std::size_t i : platform_.by_link) {
            const Units packets = std::min(left, capacity(i, compute_s));
            if (packets == 0) continue;
            filling.of_node[i] = packets;
            filling.transfer_s += static_cast<double>(packets) * node(i).seconds_per_packet;
            filling.dearest_s = node(i).seconds_per_packet;
            left -= packets;
            if (left == 0) break;
        }
        filling.feasible = left == 0;
        return filling;
    }

    void consider(double compute_s) {
        const Filling filling = fill(compute_s);
        if (!filling.feasible || compute_s + filling.transfer_s >= best_s_) return;
        best_s_ = compute_s + filling.transfer_s;
        best_compute_s_ = compute_s;
    }

    /// First solutions: some time above the relaxed optimum every unit has room for a packet more.
    void probe() {
        double above_s = kInfinity;
        for (const AssignmentUnit& unit : platform_.problem.units) above_s = std::min(above_s, unit.seconds_per_packet);
        for (int found = 0; found < 8; above_s *= 2) {
            consider(relaxed_.compute_s + above_s);
            found += best_s_ < kInfinity;
        }
    }

    /// No C outside can be better than the best so far.
    std::pair<double, double> interval() const {
        const auto may_hold = [&](double compute_s) {
            const SerialValue value = relaxed_serial_at(platform_, compute_s);
            return value.feasible && value.seconds <= best_s_ * (1 + 1e-12);
        };
        double last_s = relaxed_.compute_s, beyond_s = best_s_ * (1 + 1e-9);
        double first_s = relaxed_.compute_s, below_s = 0;
        for (int step = 0; step < 40; ++step) {
            const double right_s = (last_s + beyond_s) / 2, left_s = (first_s + below_s) / 2;
            (may_hold(right_s) ? last_s : beyond_s) = right_s;
            (may_hold(left_s) ? first_s : below_s) = left_s;
        }
        return {below_s, beyond_s};
    }

    /// All C of the interval: one dearest link after the other, from the cheapest on.
    void search(double from_s, double to_s) {
        while (to_s > 0 && to_s >= from_s && !done() && steps_left_ > 0) {
            const Filling filling = fill(to_s);
            if (!filling.feasible) return;
            const double least_s = least_compute_s(filling.dearest_s, from_s, to_s);
            consider(least_s);
            sweep(filling.dearest_s, least_s, to_s);
            to_s = std::nextafter(least_s, 0);
        }
    }

    /// The smallest C in [from, to] for which links up to `dearest_s` suffice. They do for `to_s`.
    double least_compute_s(double dearest_s, double from_s, double to_s) const {
        const auto suffices = [&](double compute_s) {
            Units left = platform_.problem.packets;
            for (const std::size_t i : platform_.by_link) {
                if (node(i).seconds_per_packet > dearest_s) break;
                left -= std::min(left, capacity(i, compute_s));
            }
            return left == 0;
        };
        if (suffices(from_s)) return from_s;
        while (true) {
            const double middle_s = from_s + (to_s - from_s) / 2;
            if (!(middle_s > from_s && middle_s < to_s)) return to_s;
            (suffices(middle_s) ? to_s : from_s) = middle_s;
        }
    }

    /// The ends of packets in [from, to] on links cheaper than `dearest_s`, the dearest in use all along.
    void sweep(double dearest_s, double from_s, double to_s) {
        struct End {
            double seconds;
            std::size_t unit;
            bool operator<(const End& other) const { return seconds < other.seconds; }
        };
        std::vector<End> ends;  // of the last packet of each unit: a heap, the latest first
        std::vector<Units> room_of_unit(platform_.problem.units.size()), room_of_node(platform_.by_link.size(), 0);
        double saved_s = 0;
        for (const std::size_t i : platform_.by_link) {
            if (node(i).seconds_per_packet >= dearest_s) break;
            for (const std::size_t j : platform_.units_of[i]) {
                room_of_unit[j] = room(j, to_s);
                room_of_node[i] += room_of_unit[j];
                if (room_of_unit[j] > 0) ends.push_back({end_s(j, room_of_unit[j]), j});
            }
            saved_s += (dearest_s - node(i).seconds_per_packet) *
                       static_cast<double>(std::min(room_of_node[i], node(i).maximum_packets));
        }
        const double all_s = dearest_s * static_cast<double>(platform_.problem.packets);
        std::make_heap(ends.begin(), ends.end());
        while (!ends.empty() && ends.front().seconds >= from_s && !done() && steps_left_ > 0) {
            --steps_left_;
            const auto [compute_s, j] = ends.front();
            if (compute_s + all_s - saved_s < best_s_) consider(compute_s);
            const std::size_t i = platform_.problem.units[j].node;
            if (room_of_node[i]-- <= node(i).maximum_packets) saved_s -= dearest_s - node(i).seconds_per_packet;
            std::pop_heap(ends.begin(), ends.end());
            ends.back().seconds = end_s(j, --room_of_unit[j]);
            if (room_of_unit[j] > 0)
                std::push_heap(ends.begin(), ends.end());
            else
                ends.pop_back();
        }
    }

    double end_s(std::size_t j, Units packets) const {
        return static_cast<double>(packets) * platform_.problem.units[j].seconds_per_packet;
    }

    const AssignmentPlatform& platform_;
    RelaxedSerial relaxed_;
    double good_s_;  ///< as good as the bound
    long steps_left_ = kMostSteps;
    double best_s_ = kInfinity, best_compute_s_ = 0;
};

}  // namespace

Plan plan_ilp(const DataAssignment& problem) {
    Plan plan;
    plan.failure = why_impossible(problem);
    if (!plan.failure.empty()) return plan;
    std::vector<Units> packets(problem.units.size(), 0);
    double lower_bound_s = kInfinity;  // that is, proven to be optimal
    if (problem.packets > 0) {
        const AssignmentPlatform platform(in_granules(problem));
        if (problem.network == Network::serial) {
            const SerialAssignment best = SerialSearch(platform).run();
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
