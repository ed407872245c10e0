// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <filesystem>

namespace apportion {

/// A new folder in TMPDIR, removed with all that is in it.
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

}  // namespace apportion
