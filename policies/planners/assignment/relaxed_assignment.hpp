// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The data assignment problem with packets that can be cut at will: the bound for every planner of data_assignment.hpp,
// and the place near which the exact one searches.
#pragma once

#include "policies/planners/assignment/data_assignment.hpp"

namespace apportion {

/// A data assignment problem of granularity 1, ordered for the searches.
struct AssignmentPlatform {
    explicit AssignmentPlatform(DataAssignment in_granules);

    DataAssignment problem;
    std::vector<std::vector<std::size_t>> units_of;  ///< node -> its units
    std::vector<std::size_t> by_link;                ///< nodes, cheapest link first
    double startups_s = 0;                           ///< of all nodes, both ways
};

/// The serial form as a function of the compute time C: C + the cheapest transfers that C leaves. Convex where
/// feasible.
struct SerialValue {
    double seconds = 0;  ///< without start-ups
    double slope = 0;    ///< a subgradient
    bool feasible = false;
};
SerialValue relaxed_serial_at(const AssignmentPlatform& platform, double compute_s);

struct RelaxedSerial {
    double compute_s = 0;  ///< C of the optimum
    double bound_s = 0;    ///< never above the optimum, start-ups included
};
RelaxedSerial relaxed_serial(const AssignmentPlatform& platform);

/// Bound of the parallel form, start-ups included.
double relaxed_parallel(const AssignmentPlatform& platform);

/// Most packets that a node can take in `budget_s`, transfers included and start-ups not: cut at will, or whole.
double relaxed_capacity(const AssignmentPlatform& platform, std::size_t node, double budget_s);
Units whole_capacity(const AssignmentPlatform& platform, std::size_t node, double budget_s);

}  // namespace apportion
