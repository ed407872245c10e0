// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The profile that the static policies of a comparison plan from: the recorded one, or, where there is none, one that
// is made for the comparison and removed behind it. Making it is no part of any makespan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codelets/io/progress.hpp"
#include "tools/apportion/program_runner.hpp"
#include "tools/apportion/temporary_folder.hpp"

namespace apportion {

class ComparisonProfile {
  public:
    /// Does nothing unless one of the policies needs a profile. Otherwise runs the program once, to learn the names of
    /// its loads and their processors. A bundled application of a --size gets the platform's true times, on this
    /// machine those of the default sizes, measured quickly; other programs get what some runs learn. Standard error
    /// tells so. Without a profile, policies that the user chose are a UserError, others are left out. Throws
    /// UserError, PlatformError, and what a run throws.
    ComparisonProfile(ProgramRunner& runner, const std::string& platform, std::vector<std::string> policies,
                      bool chosen_by_user, ProgressLine& progress);

    const std::vector<std::string>& policies() const { return policies_; }  ///< that can run
    const std::vector<std::string>& notes() const { return notes_; }

  private:
    /// Empty, or why the profile is not usable.
    std::string record(ProgramRunner& runner, const std::string& platform, const RunReport& report,
                       ProgressLine& progress);

    std::string record_nodes(ProgramRunner& runner);

    std::vector<std::string> policies_, notes_;
    std::optional<TemporaryFolder> folder_;
};

}  // namespace apportion
