// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What tells one machine from another: in profiles and in StarPU's files.
#pragma once

#include <string>

namespace apportion {

/// As StarPU names the machine: STARPU_HOSTNAME, or the host's name without its domain.
std::string host_name();

/// Name and CPU model; the handicap and the simulated platform too, because they change what it measures.
std::string machine_description();

/// Programs that ran or waited for a CPU during the last minute, on average, for each CPU; 0 where the system does not
/// tell. Near 0 on a machine that is free for measurements.
double load_per_cpu();

}  // namespace apportion
