// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/io/user_folders.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace apportion {

namespace fs = std::filesystem;

namespace {

fs::path variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

fs::path home_in_list_of_users() {
    passwd entry;
    passwd* found = nullptr;
    std::vector<char> buffer(16384);
    if (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found || !found->pw_dir) return {};
    return found->pw_dir;
}

/// The XDG base directory specification: a path that is not absolute is none.
fs::path folder(const char* name, const char* in_home) {
    const fs::path chosen = variable(name);
    return (chosen.is_absolute() ? chosen : home_folder() / in_home) / "apportion";
}

}  // namespace

fs::path home_folder() {
    fs::path home = variable("HOME");
    if (home.empty()) home = home_in_list_of_users();
    if (home.empty())
        throw FileError(
            "HOME is not set, and the system knows no home folder of this user; set HOME to a folder that "
            "you may write to");
    return home;
}

fs::path cache_folder() { return folder("XDG_CACHE_HOME", ".cache"); }
fs::path data_folder() { return folder("XDG_DATA_HOME", ".local/share"); }

}  // namespace apportion
