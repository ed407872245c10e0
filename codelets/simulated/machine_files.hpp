// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What StarPU's simulated flavour needs to run on a platform: files that describe the machine, as StarPU would write
// after measuring a real one, and environment variables that choose them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "codelets/common/child_process.hpp"
#include "codelets/simulated/platform.hpp"

namespace apportion::simulated {

/// STARPU_HOSTNAME of the platform, a single machine.
std::string host_name(const Platform& platform);

/// Writes the files into `folder`/bus, creating folders, and returns the variables under which any program that was
/// built with the simulated flavour runs on the platform. Throws UserError when the machine is too large for
/// StarPU, and when files cannot be written.
std::vector<EnvironmentChange> write_machine_files(const Platform& platform, const std::filesystem::path& folder);

/// How programs of the flavour smpi are started on a cluster: the launcher, the program and its arguments, under the
/// environment. None of the arguments may have white space in it, where smpirun divides them.
struct ClusterFiles {
    std::vector<std::string> launcher;
    std::vector<EnvironmentChange> environment;
};

/// The same for a cluster: one rank for each node. Throws UserError.
ClusterFiles write_cluster_files(const Platform& cluster, const std::filesystem::path& folder);

/// A folder of this user's cache for the platform's machine files; another file of the same name has another.
std::filesystem::path machine_files_cache(const Platform& platform);

}  // namespace apportion::simulated
