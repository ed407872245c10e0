// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The profile of a simulated platform, from its time functions: what `apportion profile` would measure there if it
// measured long enough. Noise is drawn as the platform has it and averaged like a measurement; drift and loss, which
// begin at a moment of a run, are left out. The application runs once, to tell its processors' names and its units.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "codelets/simulated/platform.hpp"
#include "models/profile_file.hpp"
#include "models/samples.hpp"
#include "policies/policy.hpp"
#include "policies/starpu/machine.hpp"
#include "tools/apportion/run_report.hpp"

namespace apportion {

struct PlatformProfile {
    std::string load;  ///< the name under which programs look for it
    Machine machine;
    Profile profile;
};

/// What is run: the application's kernel, its --size, and what that means.
struct Kernel {
    std::string app, size;
    simulated::KernelSize measures;
};

/// The true times of each node of a cluster, into files in `folder` where the nodes' ranks look for them. `report`: of
/// one load, from a run on the cluster. Returns why there are none, a sentence's part, where the report does not tell
/// of all nodes; or nothing. Throws PlatformError and UserError.
std::string save_cluster_profiles(const Kernel& kernel, const simulated::Platform& cluster, const RunReport& report,
                                  const std::filesystem::path& folder);

/// `size`: the application's --size. `sizes`: units to record, ascending; empty: about 500 from one granule to the
/// whole load, dense enough to interpolate. Sizes that exceed a device's memory are left out of its times. Throws
/// UserError and PlatformError.
PlatformProfile platform_profile(const std::string& app, const std::string& size, const std::string& platform,
                                 const std::vector<Units>& sizes, const SampleOptions& samples);

/// Times of x x x problems instead, as HPOPTA's paper profiles its processors: a share of x units is x of the units
/// that a problem of size x has. One processor per device of the platform, `sizes` as above but given. What does not
/// fit a memory is left to the platform's times. Throws UserError and PlatformError.
Profile square_profile(const std::string& app, const std::string& platform, const std::vector<Units>& sizes);

}  // namespace apportion
