// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The profile that the static policies of a comparison plan from: the recorded one, or, where there is none, one that
// is recorded for the comparison and removed behind it. Recording is no part of any makespan.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/apportion/app_runner.hpp"

namespace apportion {

class ComparisonProfile {
  public:
    /// Does nothing unless one of the policies plans from a profile. Otherwise runs the application once, to learn the
    /// profile's name and its processors, and records where nothing usable is recorded: the platform's true times, or
    /// on this machine the default sizes, quickly. Tells so on standard error. Throws UserError, PlatformError.
    ComparisonProfile(AppRunner& runner, const std::string& app, const std::string& size, const std::string& platform,
                      const std::vector<std::string>& policies);
    ~ComparisonProfile();
    ComparisonProfile(const ComparisonProfile&) = delete;
    ComparisonProfile& operator=(const ComparisonProfile&) = delete;

  private:
    std::filesystem::path folder_;  ///< temporary, or empty
};

}  // namespace apportion
