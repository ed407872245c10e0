// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The one way in which files are opened to be read, for every layer: regular files only. A pipe would block for ever
// where no program writes, and a device such as /dev/zero has no end.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "models/io/user_error.hpp"

namespace apportion {

/// Throws FileError when there is a pipe, a device, a folder, or nothing.
void require_regular_file(const std::string& path);

/// The file, open. Throws FileError.
std::ifstream open_to_read(const std::string& path);

/// Whether there is nothing of that name. Of what may not be looked at nobody knows: opening it tells why.
bool is_missing(const std::filesystem::path& path);

/// All of it. Throws FileError.
std::string read_whole_file(const std::string& path);

}  // namespace apportion
