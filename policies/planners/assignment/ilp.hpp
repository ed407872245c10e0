// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `ilp`: the optimal data assignment (see data_assignment.hpp) by the structure of the problem, without a solver.
// Boinski and Czarnul's solver took up to 7844 s on their instances. Given the compute time C, unit j has room for
// floor(C / c_j) packets, so
//  - serial network: the cheapest links are filled first, which gives the transfer time V(C). The relaxed C + V(C) is
//    convex and confines C to an interval, whose values k c_j are looked at (ilp_serial.hpp).
//  - parallel network: bisection on T; within it, for every node, bisection on C for the most packets that fit.
// Exact up to rounding of T. The values are few unless C + V(C) is flat without reaching the relaxed bound, when there
// are up to n of them; after 20 million the best solution is taken and not called optimal.
#pragma once

#include "policies/planners/assignment/data_assignment.hpp"

namespace apportion {

Plan plan_ilp(const DataAssignment& problem);

}  // namespace apportion
