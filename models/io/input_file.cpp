// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/io/input_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <system_error>

namespace apportion {

namespace {

[[noreturn]] void fail_to_open(const std::string& path) {
    throw FileError(
        fmt::format("{}: cannot be opened: {}; check the path and your rights", path, std::strerror(errno)));
}

}  // namespace

void require_regular_file(const std::string& path) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0) fail_to_open(path);
    if (!S_ISREG(status.st_mode))
        throw FileError(fmt::format("{}: is not a regular file; a {} cannot be read here", path,
                                    S_ISDIR(status.st_mode) ? "folder" : "pipe or device"));
}

std::ifstream open_to_read(const std::string& path) {
    require_regular_file(path);
    std::ifstream in(path, std::ios::binary);
    if (!in) fail_to_open(path);
    return in;
}

bool is_missing(const std::filesystem::path& path) {
    std::error_code unknown;
    return std::filesystem::status(path, unknown).type() == std::filesystem::file_type::not_found;
}

std::string read_whole_file(const std::string& path) {
    std::ifstream in = open_to_read(path);
    std::ostringstream text;
    if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
    if (in.bad() || !text) throw FileError(fmt::format("{}: cannot be read; check the disk", path));
    return std::move(text).str();
}

}  // namespace apportion
