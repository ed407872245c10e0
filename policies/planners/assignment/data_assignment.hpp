// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The data assignment problem of Boinski and Czarnul (The Computer Journal 2021, section 3): n equal packets go over a
// network to nodes and over a bus to the processing units of each node. With d_j packets on unit j, d_N on node N,
//
//     parallel network (eq. 3)   T = max over N of (2 a_N + w_N d_N + max over j in N of c_j d_j)
//     serial network             T = sum over N of (2 a_N + w_N d_N) + max over all j of c_j d_j
//
// where a_N is the start-up of a message, w_N the seconds that the input and the result of a packet travel, and c_j the
// seconds of unit j for a packet, bus transfers, start-up and clean-up included. Eq. 3 overlaps the nodes' transfers;
// the paper's own results are those of the serial form, in which they share the manager's one link. Start-ups are paid
// by every node, as printed.
#pragma once

#include <span>

#include "policies/planners/planner.hpp"

namespace apportion {

enum class Network { serial, parallel };

struct AssignmentNode {
    std::string name;
    double startup_s = 0;              ///< a_N
    double seconds_per_packet = 0;     ///< w_N = (input + result bytes) / bandwidth
    Units maximum_packets = kNoLimit;  ///< memory of the node
};

struct AssignmentUnit {
    std::string name;
    std::size_t node = 0;
    double seconds_per_packet = 0;      ///< c_j > 0
    double computing_per_packet_s = 0;  ///< the part of c_j without start-up and clean-up; for min-min v1, proportional
    Units maximum_packets = kNoLimit;
};

struct DataAssignment {
    std::vector<AssignmentNode> nodes;
    std::vector<AssignmentUnit> units;
    Units packets = 0;      ///< n
    Units granularity = 1;  ///< every d_j is a multiple of it
    Network network = Network::serial;
};

/// Empty, or why there is no solution, with the nearest number of packets that can be assigned.
std::string why_impossible(const DataAssignment& problem);

/// T of a distribution, one number of packets a unit.
double makespan(const DataAssignment& problem, std::span<const Units> packets);

/// The same problem counted in granules (granularity 1), every maximum cut to [0, n]; and granules counted in packets.
DataAssignment in_granules(const DataAssignment& problem);
std::vector<Units> in_packets(std::vector<Units> granules, const DataAssignment& problem);

/// Optimal T if packets could be cut at will: never above the optimum.
double relaxed_bound(const DataAssignment& problem);

/// Fills in shares, times (c_j d_j), ends (with the transfers of T), makespan, and whether that is proven to be optimal
/// by `lower_bound_s`.
void finish_assignment(const DataAssignment& problem, std::vector<Units> packets, double lower_bound_s, Plan& plan);

// The planners, by the files of their names.

Plan plan_ilp(const DataAssignment& problem);

struct MilpOptions {
    double time_limit_s = 30;  ///< section 4.5.4: 30, 60, 90 s
};

/// Without lp_solve there is no `ilp-milp`: its plan is a failure that says so.
bool has_milp_solver();
Plan plan_ilp_milp(const DataAssignment& problem, const MilpOptions& options = {});

Plan plan_min_min_v1(const DataAssignment& problem);
Plan plan_min_min_v2(const DataAssignment& problem);
Plan plan_proportional(const DataAssignment& problem);

}  // namespace apportion
