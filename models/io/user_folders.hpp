// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where files of the user lie, for every layer. A folder that others can foresee and write to, such as one in /tmp, is
// never one of them.
#pragma once

#include <filesystem>

#include "models/io/user_error.hpp"

namespace apportion {

/// HOME, or what the system's list of users says where that is not set. Throws FileError when there is none.
std::filesystem::path home_folder();

/// What can be made again: XDG_CACHE_HOME or .cache in the home folder, and in it apportion. Throws FileError.
std::filesystem::path cache_folder();

/// What is kept: XDG_DATA_HOME or .local/share in the home folder, and in it apportion. Throws FileError.
std::filesystem::path data_folder();

}  // namespace apportion
