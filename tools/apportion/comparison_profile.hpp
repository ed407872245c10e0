// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The profile that the static policies of a comparison plan from: the recorded one, or, where there is none, one that
// is recorded for the comparison and removed behind it. Recording is no part of any makespan.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/apportion/app_runner.hpp"

namespace apportion {

/// Removed with all that is in it.
class TemporaryFolder {
  public:
    TemporaryFolder();  ///< throws std::runtime_error
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

class ComparisonProfile {
  public:
    /// Does nothing unless one of the policies plans from a profile. Otherwise runs the application once, to learn the
    /// profile's name and its processors, and records where nothing usable is recorded: the platform's true times, or
    /// on this machine the default sizes, quickly. Tells so on standard error. Throws UserError, PlatformError.
    ComparisonProfile(AppRunner& runner, const std::string& app, const std::string& size, const std::string& platform,
                      const std::vector<std::string>& policies);

  private:
    std::optional<TemporaryFolder> folder_;
};

}  // namespace apportion
