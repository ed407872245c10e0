// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Data assignment on a serial network, exactly: T = start-ups + C + V(C), where C is the longest computing time and
// V(C) the cheapest transfers that C leaves, the links filled from the cheapest on. Relaxed, C + V(C) is convex and
// confines C to an interval around its minimum. Where the dearest link in use is W, the whole one is
//
//     C + w_W n - sum over the cheaper links k of (w_W - w_k) min(room of k's units within C, maximum of k),
//
// which only ends of packets on these cheaper links can lower: they are looked at one by one. The interval is short
// unless computing a packet takes about as long as it saves on the network, when it may be as long as all of n.
#pragma once

#include <vector>

#include "policies/planners/assignment/relaxed_assignment.hpp"

namespace apportion {

struct SerialAssignment {
    std::vector<Units> of_node;  ///< packets
    bool proven = false;         ///< to be optimal
};

/// At least one packet, which the limits allow. `most_steps` packets are looked at, some 50 ns each; then the best
/// assignment so far is taken.
SerialAssignment assign_serial(const AssignmentPlatform& platform, long most_steps);

}  // namespace apportion
