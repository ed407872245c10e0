// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/io/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <sstream>
#include <utility>

namespace apportion {

namespace {

constexpr int kMostNames = 100;  ///< that are tried; one of them is in use with a probability of 2^-64

std::string random_name(const std::string& path) {
    std::random_device random;
    const std::uint64_t number = std::uint64_t{random()} << 32 | random();
    return fmt::format("{}.{:016x}.part", path, number);
}

}  // namespace

void require_replaceable(const std::string& path) {
    std::error_code ignored;
    // A rename would put a file in the place of a device, a pipe, or whatever else has the name.
    const std::filesystem::file_status status = std::filesystem::status(path, ignored);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        throw FileError(fmt::format("{}: exists and is not a regular file; choose another name", path));
}

NewFile::NewFile(std::string path) : path_(std::move(path)) {
    require_replaceable(path_);
    int file = -1;
    for (int i = 0; i < kMostNames && file < 0; ++i) {
        part_ = random_name(path_);
        // Not mkstemp(): files of programs have the rights that the user's umask gives.
        file = open(part_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST) break;
    }
    stream_ = file < 0 ? nullptr : fdopen(file, "w");
    if (stream_) return;
    const int error = errno;
    if (file >= 0) {
        close(file);
        unlink(part_.c_str());
    }
    throw FileError(
        fmt::format("{}: cannot be written: {}; check the path and your rights", path_, std::strerror(error)));
}

NewFile::~NewFile() {
    if (stream_) std::fclose(stream_);
    if (!part_.empty()) unlink(part_.c_str());
}

void NewFile::fail(int error) const {
    throw std::runtime_error(fmt::format("{}: cannot be written: {}; make room on the disk or choose another path",
                                         path_, std::strerror(error != 0 ? error : EIO)));
}

void NewFile::finish() {
    errno = 0;
    const bool written = std::fflush(stream_) == 0 && !std::ferror(stream_);
    int error = errno;
    const bool closed = std::fclose(std::exchange(stream_, nullptr)) == 0;
    if (written) error = errno;
    if (!written || !closed) fail(error);
    if (std::rename(part_.c_str(), path_.c_str()) != 0) fail(errno);
    part_.clear();
}

void replace_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
    NewFile file(path);
    std::ostringstream text;
    write(text);
    const std::string content = std::move(text).str();
    std::fwrite(content.data(), 1, content.size(), file.stream());
    file.finish();
}

}  // namespace apportion
