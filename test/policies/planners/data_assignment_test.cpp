// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The planners of data assignment: the published instances, brute force, and the laws that all of them keep.
#include "policies/planners/assignment/data_assignment.hpp"

#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "policies/planners/assignment/level_fill.hpp"
#include "policies/planners/planner_table.hpp"
#include "test/catch.hpp"
#include "test/published/gdansk.hpp"

using namespace apportion;
using namespace published;

namespace {

/// The platform with packets of the given sizes; c is added by the caller.
DataAssignment gdansk_platform(double packet_bytes) {
    DataAssignment problem;
    for (std::size_t i = 0; i < gdansk::kNodes; ++i)
        problem.nodes.push_back(
            {gdansk::kNodeNames[i], gdansk::kStartupS[i], packet_bytes / gdansk::kBytesPerS[i], kNoLimit});
    for (std::size_t j = 0; j < gdansk::kUnits; ++j)
        problem.units.push_back({std::to_string(j), gdansk::kNodeOfUnit[j], 0, 0, kNoLimit});
    return problem;
}

DataAssignment gdansk_problem(const gdansk::Size& size) {
    DataAssignment problem = gdansk_platform(size.input_bytes + size.result_bytes);
    for (std::size_t j = 0; j < gdansk::kUnits; ++j) {
        problem.units[j].computing_per_packet_s = gdansk::kIterations * size.iteration_s[j];
        problem.units[j].seconds_per_packet = size.c_s[j];
    }
    return problem;
}

DataAssignment gdansk_2048() {
    DataAssignment problem = gdansk_platform(gdansk::kInputBytesOf2048 + gdansk::kResultBytesOf2048);
    problem.packets = 2048;
    for (std::size_t i = 0; i < gdansk::kNodes; ++i) problem.nodes[i].maximum_packets = gdansk::kLimitsOf2048[i];
    for (std::size_t j = 0; j < gdansk::kUnits; ++j)
        problem.units[j].computing_per_packet_s = problem.units[j].seconds_per_packet =
            gdansk::kIterations * gdansk::kIterationOf2048S[j];
    return problem;
}

DataAssignment random_problem(unsigned seed, std::size_t nodes, std::size_t units_of_node, Units packets) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::uniform_int_distribution<int> whole(0, 9);
    DataAssignment problem;
    problem.packets = packets;
    problem.network = seed % 2 == 0 ? Network::serial : Network::parallel;
    const bool round_numbers = seed % 3 == 0;  // many ties
    for (std::size_t i = 0; i < nodes; ++i) {
        const double link_s = round_numbers ? 0.25 * whole(random) : 2 * uniform(random);
        problem.nodes.push_back({"N" + std::to_string(i), 0.1 * uniform(random), link_s,
                                 whole(random) < 3 ? static_cast<Units>(whole(random)) : kNoLimit});
        for (std::size_t k = 0; k < units_of_node; ++k) {
            const double c = round_numbers ? 0.5 * (1 + whole(random)) : 0.1 + 3 * uniform(random);
            problem.units.push_back(
                {"U", i, c, c * 0.8, whole(random) < 2 ? static_cast<Units>(whole(random)) : kNoLimit});
        }
    }
    return problem;
}

double brute_force(const DataAssignment& problem) {
    std::vector<Units> packets(problem.units.size(), 0);
    double best_s = 1e300;
    auto place = [&](auto&& self, std::size_t j, Units left) -> void {
        if (j == packets.size()) {
            if (left > 0) return;
            std::vector<Units> of_node(problem.nodes.size(), 0);
            for (std::size_t k = 0; k < packets.size(); ++k) of_node[problem.units[k].node] += packets[k];
            for (std::size_t i = 0; i < of_node.size(); ++i)
                if (of_node[i] > problem.nodes[i].maximum_packets) return;
            best_s = std::min(best_s, makespan(problem, packets));
            return;
        }
        for (Units count = 0; count <= std::min(left, problem.units[j].maximum_packets); ++count) {
            packets[j] = count;
            self(self, j + 1, left - count);
        }
        packets[j] = 0;
    };
    place(place, 0, problem.packets);
    return best_s;
}

void check_assignment(const DataAssignment& problem, const Plan& plan) {
    REQUIRE(plan.failure == "");
    REQUIRE(plan.shares.size() == problem.units.size());
    CHECK(std::accumulate(plan.shares.begin(), plan.shares.end(), Units{0}) == problem.packets);
    std::vector<Units> of_node(problem.nodes.size(), 0);
    for (std::size_t j = 0; j < plan.shares.size(); ++j) {
        CHECK(plan.shares[j] >= 0);
        CHECK(plan.shares[j] <= problem.units[j].maximum_packets);
        CHECK(plan.shares[j] % problem.granularity == 0);
        of_node[problem.units[j].node] += plan.shares[j];
    }
    for (std::size_t i = 0; i < of_node.size(); ++i) CHECK(of_node[i] <= problem.nodes[i].maximum_packets);
    CHECK(plan.makespan_s == Approx(makespan(problem, plan.shares)));
    // A node without packets pays its start-up, too, so that the last share need not end with the makespan.
    REQUIRE(plan.ends_s.size() == plan.shares.size());
    for (std::size_t j = 0; j < plan.shares.size(); ++j) {
        CHECK(plan.ends_s[j] >= plan.times_s[j]);
        CHECK(plan.ends_s[j] <= plan.makespan_s * (1 + 1e-9));
    }
    CHECK(plan.lower_bound_s <= plan.makespan_s);
}

}  // namespace

TEST_CASE("ilp's optima are the published times of all 16 instances, on the serial network") {
    for (const gdansk::Size& size : gdansk::kSizes)
        for (const gdansk::Column& column : size.columns) {
            DataAssignment problem = gdansk_problem(size);
            problem.packets = column.packets;
            const Plan plan = plan_ilp(problem);
            CAPTURE(size.unknowns, column.packets);
            check_assignment(problem, plan);
            CHECK(plan.optimal);
            CHECK(std::abs(plan.makespan_s - column.time_s) < 0.001);
            const std::vector<Units> published(column.distribution.begin(), column.distribution.end());
            CHECK(plan.makespan_s <= makespan(problem, published) * (1 + 1e-9));
        }
}

TEST_CASE("overlapped transfers, as eq. 3 prints them, are faster than the published times") {
    for (const gdansk::Size& size : gdansk::kSizes) {
        DataAssignment problem = gdansk_problem(size);
        problem.packets = 2048;
        problem.network = Network::parallel;
        const Plan plan = plan_ilp(problem);
        check_assignment(problem, plan);
        CHECK(plan.makespan_s < 0.9 * size.columns.back().time_s);
    }
}

TEST_CASE("ilp equals brute force on small instances of both networks, with limits and ties") {
    int solved = 0;
    for (unsigned seed = 0; seed < 3000; ++seed) {
        const std::size_t nodes = 1 + seed % 3, units_of_node = 1 + seed / 3 % 2;
        const DataAssignment problem = random_problem(seed, nodes, units_of_node, 1 + seed % 7);
        const Plan plan = plan_ilp(problem);
        const double best_s = brute_force(problem);
        CAPTURE(seed, plan.failure);
        REQUIRE((best_s > 1e299) == !plan.failure.empty());
        if (!plan.failure.empty()) continue;
        ++solved;
        check_assignment(problem, plan);
        REQUIRE(plan.makespan_s == Approx(best_s).epsilon(1e-11));
        REQUIRE(relaxed_bound(problem) <= best_s * (1 + 1e-12));
    }
    CHECK(solved > 2000);
}

TEST_CASE("ilp equals the mixed-integer program on instances too large for brute force") {
    if (!has_milp_solver()) return;
    int proven = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        const DataAssignment problem = random_problem(seed, 4, 2, 40 + seed);
        const Plan plan = plan_ilp(problem);
        if (!plan.failure.empty()) continue;
        const Plan milp = plan_ilp_milp(problem, {0.5});
        CAPTURE(seed);
        check_assignment(problem, milp);
        REQUIRE(plan.makespan_s <= milp.makespan_s * (1 + 1e-9));
        if (!milp.optimal) continue;
        ++proven;
        REQUIRE(plan.makespan_s == Approx(milp.makespan_s).epsilon(1e-7));
    }
    CHECK(proven > 20);
}

TEST_CASE("the mixed-integer program knows the optimum of a node that has no start-up, and of times that are tiny") {
    if (!has_milp_solver()) return;
    for (const double scale : {1.0, 1e-13}) {
        DataAssignment problem;
        problem.packets = 1;
        problem.network = Network::parallel;
        problem.nodes = {{"a", 0.5 * scale, 0, kNoLimit}, {"b", 0, 0, kNoLimit}};
        problem.units = {{"a", 0, 2 * scale, 0, kNoLimit}, {"b", 1, 2.5 * scale, 0, kNoLimit}};
        CHECK(plan_ilp_milp(problem, {1}).makespan_s == Approx(2.5 * scale));
    }
    int proven = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        DataAssignment problem = random_problem(seed, 3, 2, 5 + seed % 9);
        for (AssignmentNode& node : problem.nodes) node.seconds_per_packet *= 1e-13, node.startup_s *= 1e-13;
        for (AssignmentUnit& unit : problem.units) unit.seconds_per_packet *= 1e-13;
        const Plan plan = plan_ilp_milp(problem, {0.5});
        if (!plan.failure.empty() || !plan.optimal) continue;
        ++proven;
        CAPTURE(seed);
        REQUIRE(plan.makespan_s == Approx(plan_ilp(problem).makespan_s).epsilon(1e-7));
    }
    CHECK(proven > 100);
}

TEST_CASE("min-min hands packets out as the list does, one by one") {
    for (unsigned seed = 0; seed < 500; ++seed) {
        const DataAssignment problem = random_problem(seed, 3, 2, 1 + seed % 60);
        const Plan plan = plan_min_min_v2(problem);
        if (!plan.failure.empty()) continue;
        std::vector<Units> list(problem.units.size(), 0), of_node(problem.nodes.size(), 0);
        for (Units packet = 0; packet < problem.packets; ++packet) {
            std::size_t best = list.size();
            double best_s = 1e300;
            for (std::size_t j = 0; j < list.size(); ++j) {
                const AssignmentUnit& unit = problem.units[j];
                const double end_s = static_cast<double>(list[j] + 1) *
                                     (problem.nodes[unit.node].seconds_per_packet + unit.seconds_per_packet);
                if (list[j] >= unit.maximum_packets || of_node[unit.node] >= problem.nodes[unit.node].maximum_packets)
                    continue;
                if (end_s < best_s) best_s = end_s, best = j;
            }
            ++list[best];
            ++of_node[problem.units[best].node];
        }
        CAPTURE(seed);
        REQUIRE(plan.shares == list);
    }
}

TEST_CASE("the solver's time limit ends it, and there is a valid assignment then") {
    if (!has_milp_solver()) return;
    DataAssignment problem = gdansk_problem(gdansk::kSizes[0]);
    problem.packets = 1000000;
    problem.units[3].seconds_per_packet = 5.3;
    const auto begin = std::chrono::steady_clock::now();
    const Plan plan = plan_ilp_milp(problem, {0.2});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    check_assignment(problem, plan);
    CHECK(seconds < 5);  // a hang, not a measurement: test/benchmarks measures the limit
}

TEST_CASE("every assignment planner gives exactly n in multiples of the granularity") {
    for (const AssignmentPlannerEntry& planner : registered_assignment_planners())
        for (unsigned seed = 0; seed < 40; ++seed)
            for (const Units granularity : {1, 8}) {
                DataAssignment problem = random_problem(seed, 1 + seed % 4, 2, granularity * (seed % 30));
                problem.granularity = granularity;
                for (AssignmentNode& node : problem.nodes)
                    if (node.maximum_packets != kNoLimit) node.maximum_packets *= 5;
                if (std::string(planner.name) == "ilp-milp" && !has_milp_solver()) continue;
                const Plan plan = run_planner(planner, problem, 0.05);
                CAPTURE(planner.name, seed, granularity);
                CHECK(plan.algorithm == planner.name);
                if (plan.failure.empty())
                    check_assignment(problem, plan);
                else
                    CHECK(plan.failure == why_impossible(problem));
            }
}

TEST_CASE("huge numbers of packets are assigned exactly") {
    for (const char* name : {"ilp", "min-min-v1", "min-min-v2", "proportional"})
        for (const Network network : {Network::serial, Network::parallel}) {
            DataAssignment problem = gdansk_problem(gdansk::kSizes[1]);
            problem.network = network;
            problem.packets = 1000000000007;
            CAPTURE(name);
            check_assignment(problem, run_planner(*find_assignment_planner(name), problem, 1));
        }
}

TEST_CASE("a flat sum of computing and transfers does not make the search long") {
    // A packet computed behind the free link takes as long as its transfer over the other: every C is optimal.
    DataAssignment problem;
    problem.nodes = {{"near", 0, 0, kNoLimit}, {"far", 0, 1, kNoLimit}};
    problem.units = {{"slow", 0, 1, 1, kNoLimit}, {"fast", 1, 1e-9, 1e-9, kNoLimit}};
    for (const Units packets : {Units{1000}, Units{1} << 45}) {
        problem.packets = packets;
        const Plan plan = plan_ilp(problem);
        check_assignment(problem, plan);
        CHECK(plan.optimal);
        CHECK(plan.makespan_s == Approx(static_cast<double>(packets)));
    }
}

TEST_CASE("ilp is optimal where a packet computed saves as long as it takes, whatever is rounded") {
    // Behind the cheap links so many packets a second are computed that each second saves one second of transfers, and
    // no C reaches the relaxed bound: all of n has to be searched.
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> uniform(0.1, 1);
        DataAssignment problem;
        problem.packets = 3000;
        double saved_per_s = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            const bool cheap = i < 1 + seed % 2;
            problem.nodes.push_back({"", 0, cheap ? 0.01 * static_cast<double>(i) : 0, kNoLimit});
            for (int k = 0; k < 2; ++k) {
                const double c = uniform(random);
                problem.units.push_back({"", i, c, c, kNoLimit});
                if (cheap) saved_per_s += 1 / c;
            }
        }
        if (seed % 3 == 0) problem.nodes[0].maximum_packets = 2000;
        const double dear_s = 1 / saved_per_s + (seed % 2 == 0 ? 0 : 0.005);
        for (std::size_t i = 1 + seed % 2; i < 4; ++i) problem.nodes[i].seconds_per_packet = dear_s;
        double best_s = 1e300;
        for (const AssignmentUnit& end : problem.units)
            for (Units count = 1; count <= problem.packets; ++count) {
                const double compute_s = static_cast<double>(count) * end.seconds_per_packet;
                double total_s = compute_s;
                Units left = problem.packets;
                for (std::size_t i = 0; i < 4; ++i) {  // the links are in order
                    Units room = 0;
                    for (const AssignmentUnit& unit : problem.units)
                        if (unit.node == i)
                            room += static_cast<Units>(compute_s / unit.seconds_per_packet * (1 + 1e-15));
                    room = std::min({left, room, problem.nodes[i].maximum_packets});
                    total_s += static_cast<double>(room) * problem.nodes[i].seconds_per_packet;
                    left -= room;
                }
                if (left == 0) best_s = std::min(best_s, total_s);
            }
        const Plan plan = plan_ilp(problem);
        CAPTURE(seed);
        check_assignment(problem, plan);
        CHECK(plan.optimal);
        CHECK(plan.makespan_s == Approx(best_s).epsilon(1e-11));
    }
}

TEST_CASE("more packets than the limits admit are refused with the nearest number") {
    DataAssignment problem = gdansk_2048();
    problem.packets = 5000;
    for (const AssignmentPlannerEntry& planner : registered_assignment_planners())
        CHECK(run_planner(planner, problem, 1).failure ==
              "5000 packets are more than the limits allow together; the nearest number that can be assigned is 3696");
    problem.packets = 101;
    problem.granularity = 10;
    CHECK(plan_ilp(problem).failure ==
          "101 packets are no multiple of the granularity 10; the nearest number that can be assigned is 100");
    problem.packets = -1;
    CHECK_FALSE(plan_ilp(problem).failure.empty());
}

TEST_CASE("the largest count within a time is exact where division rounds") {
    for (const double seconds : {0.1, 1.0 / 3, 1e-9, 7.3})
        for (Units count : {1, 2, 3, 10, 999, 123456789}) {
            const double level_s = static_cast<double>(count) * seconds;
            CHECK(packets_within(level_s, seconds, kNoLimit) == count);
            CHECK(packets_within(std::nextafter(level_s, 0.0), seconds, kNoLimit) == count - 1);
            CHECK(packets_within(level_s, seconds, 2) == std::min<Units>(count, 2));
        }
}
