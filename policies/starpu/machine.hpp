// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What tells one machine from another: in profiles and in StarPU's files.
#pragma once

#include <string>

namespace apportion {

struct Machine {
    std::string name;         ///< folder of its profiles: the host, and what changes its speed
    std::string description;  ///< what a profile says it was recorded on
    std::string content;      ///< the same for a simulated machine whose file has another name
};

/// As StarPU names the machine: STARPU_HOSTNAME, or the host's name without its domain.
std::string host_name();

/// For a node of a simulated cluster, whose ranks share one environment.
void set_host_name(const std::string& name);

/// The machine that this process runs on, or simulates (APPORTION_PLATFORM). A handicap makes another machine of it.
Machine this_machine();

/// The machine of a platform file that StarPU knows under that host name.
Machine simulated_machine(const std::string& host, const std::string& platform_file);

/// That node of a platform file's cluster: others of the same file are other machines.
Machine simulated_node(const std::string& node, const std::string& platform_file);

}  // namespace apportion
