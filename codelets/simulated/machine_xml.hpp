// SPDX-License-Identifier: LGPL-2.1-or-later
//
// SimGrid's description of a platform.
//
// Main memory and each cuda device are hosts of SimGrid. A shared link is two, one for each direction, that the routes
// of all its devices contain (one when it is not full-duplex), so that transfers at the same time share its bandwidth;
// each device adds a link that has its latency only. Data between devices go through main memory's links. StarPU keeps
// one CPU for the driver of every cuda device.
//
// In a cluster each node is a zone named as StarPU-MPI expects it. The ranks' MPI runs on hosts of a zone of their own,
// the network, where each has a link to the others and one from them.
#pragma once

#include <string>
#include <vector>

#include "codelets/simulated/platform.hpp"

namespace apportion::simulated {

/// The cuda devices one by one, as StarPU counts them.
std::vector<const Device*> cuda_devices(const Platform& machine);

std::string machine_xml(const Platform& machine);
std::string cluster_xml(const Platform& cluster);

/// The host of a rank in the network.
std::string mpi_host(int rank);

}  // namespace apportion::simulated
