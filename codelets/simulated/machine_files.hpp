// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What StarPU's simulated flavour needs to run on a platform: files that describe the machine, as StarPU would write
// after measuring a real one, and environment variables that choose them.
//
// Main memory and each cuda device are hosts of SimGrid. A shared link is two, one for each direction, that the routes
// of all its devices contain (one when it is not full-duplex), so that transfers at the same time share its bandwidth;
// each device adds a link that has its latency only. Data between devices go through main memory's links. StarPU keeps
// one CPU for the driver of every cuda device.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "codelets/simulated/platform.hpp"

namespace apportion::simulated {

/// Names and values.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// Writes the files into `folder`/bus, creating folders, and returns the variables under which any program that was
/// built with the simulated flavour runs on the platform. Throws PlatformError when the machine is too large for
/// StarPU, and when files cannot be written.
Environment write_machine_files(const Platform& platform, const std::filesystem::path& folder);

/// A folder of this user's cache for the platform's machine files; another file of the same name has another.
std::filesystem::path machine_files_cache(const Platform& platform);

}  // namespace apportion::simulated
