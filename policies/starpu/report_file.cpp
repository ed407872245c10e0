// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/report_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "policies/starpu/error.hpp"

namespace apportion {

namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
    throw ApiError(error, fmt::format("APPORTION_REPORT={}: the report cannot be written ({}); name a file that can be "
                                      "appended to",
                                      path, std::strerror(error)));
}

}  // namespace

void check_report_file(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) refuse(path, EISDIR);
    const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
    const bool writable =
        fs::exists(path, ignored) ? access(path.c_str(), W_OK) == 0 : access(folder.c_str(), W_OK | X_OK) == 0;
    if (!writable) refuse(path, errno);
}

void append_report(const std::string& path, const std::string& json) {
    const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) refuse(path, errno);
    const std::string line = json + "\n";  // one write, so that lines of several programs do not mix
    const ssize_t written = write(file, line.data(), line.size());
    const int error = written < 0 ? errno : ENOSPC;
    const bool closed = close(file) == 0;
    if (written != static_cast<ssize_t>(line.size()) || !closed) refuse(path, error);
}

}  // namespace apportion
