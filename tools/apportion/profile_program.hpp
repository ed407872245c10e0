// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Profiles of a program's loads from runs of the program itself: what its blocks took, under policies that give every
// processor blocks of many sizes, from probes to a whole share.
#pragma once

#include <string>
#include <vector>

#include "codelets/io/progress.hpp"
#include "models/profile_file.hpp"
#include "tools/apportion/program_runner.hpp"

namespace apportion {

struct LoadProfile {
    std::string load;  ///< the name under which the program looks for it
    Profile profile;
    std::string problem;  ///< why it cannot be planned from; empty: it can
};

/// One for each load that runs under the policies of Apportion report, after `repetitions` runs under each of three.
/// Throws what a run throws.
std::vector<LoadProfile> learn_profiles(const ProgramRunner& runner, int repetitions, ProgressLine& progress);

}  // namespace apportion
