// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/report_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "policies/starpu/error.hpp"

namespace apportion {

namespace {

[[noreturn]] void refuse(const std::string& path, int error, const char* problem) {
    throw ApiError(error, "APPORTION_REPORT={}: the report cannot be written ({}); {}", path, problem,
                   error == ENOSPC ? "make room there, or name a file on another disk"
                                   : "name a regular file that can be appended to");
}

[[noreturn]] void refuse(const std::string& path, int error) { refuse(path, error, std::strerror(error)); }

/// A pipe would block until it is read. A device that takes what is written never does.
void refuse_pipe(const std::string& path, const struct stat& status) {
    if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) refuse(path, EINVAL, "it is a pipe");
}

/// Whether no other program that appends holds it. Theirs takes no time: one that keeps it must not stop a run.
bool own_file(int file) {
    constexpr int kTries = 100;
    for (int tried = 0; tried < kTries; ++tried) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0) return true;
        if (errno != EINTR && errno != EWOULDBLOCK) return true;  // there are no locks
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
}

}  // namespace

void check_report_file(const std::string& path) {
    namespace fs = std::filesystem;
    struct stat status;
    const bool exists = stat(path.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode)) refuse(path, EISDIR);
    if (exists) refuse_pipe(path, status);
    const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
    const bool writable = exists ? access(path.c_str(), W_OK) == 0 : access(folder.c_str(), W_OK | X_OK) == 0;
    if (!writable) refuse(path, errno);
}

void append_report(const std::string& path, const std::string& json) {
    // Without waiting, should it have become a pipe.
    const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (file < 0) refuse(path, errno);
    // One program at a time: what a full disk took of a line is the file's end, and is cut off again.
    if (!own_file(file)) {
        close(file);
        refuse(path, EBUSY, "another program has locked it for 5 s");
    }
    struct stat before;
    const bool regular = fstat(file, &before) == 0 && S_ISREG(before.st_mode);
    const std::string line = json + "\n";
    const ssize_t written = write(file, line.data(), line.size());
    const int error = written < 0 ? errno : ENOSPC;
    const bool whole = written == static_cast<ssize_t>(line.size());
    const bool clean = whole || !regular || ftruncate(file, before.st_size) == 0;
    const bool closed = close(file) == 0;
    if (!whole || !clean || !closed) refuse(path, error);
}

}  // namespace apportion
