// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/temporary_folder.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace apportion {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
    const char* chosen = std::getenv("TMPDIR");
    std::string name = (fs::path(chosen && *chosen ? chosen : "/tmp") / "apportion-XXXXXX").string();
    if (!mkdtemp(name.data()))
        throw std::runtime_error(
            fmt::format("{}: a temporary folder cannot be made: {}; let TMPDIR name a folder that you may write to",
                        name, std::strerror(errno)));
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

}  // namespace apportion
