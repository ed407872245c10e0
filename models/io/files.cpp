// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/io/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "models/io/text.hpp"

namespace apportion {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_to_open(const std::string& path) {
    throw FileError("{}: cannot be opened: {}; check the path and your rights", path, std::strerror(errno));
}

constexpr int kMostNames = 100;  ///< that are tried; one of them is in use with a probability of 2^-64

/// Beside `path`, which is no link.
std::string random_name(const std::string& path) {
    std::random_device random;
    const std::uint64_t number = std::uint64_t{random()} << 32 | random();
    return fmt::format("{}.{:016x}.part", path, number);
}

/// The file behind links, which need not be there. Throws FileError where the system does not follow them: they lead
/// back to themselves, or another user put them into a folder such as /tmp.
std::string behind_links(const std::string& path) {
    constexpr int kMostLinks = 40;  // as Linux has it
    fs::path file = path;
    std::error_code error, none;
    for (int i = 0; i < kMostLinks && fs::is_symlink(file, none); ++i) {
        if (i == 0 && fs::status(path, error).type() == fs::file_type::none)
            throw FileError("{}: cannot be written: {}; check the path and your rights", path, error.message());
        file = file.parent_path() / fs::read_symlink(file, none);
    }
    return file.string();
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
    const fs::path chosen = environment(name);
    return (chosen.is_absolute() ? chosen : home_folder() / in_home) / "apportion";
}

}  // namespace

void refuse_overwriting(const std::string& in, const std::string& out) {
    std::error_code error;
    if (fs::equivalent(in, out, error) && !error)
        throw UserError("{}: is the file that is read; write into another one", out);
}

void require_regular_file(const std::string& path) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0) fail_to_open(path);
    if (!S_ISREG(status.st_mode))
        throw FileError("{}: is not a regular file; a {} cannot be read here", path,
                        S_ISDIR(status.st_mode) ? "folder" : "pipe or device");
}

std::ifstream open_to_read(const std::string& path) {
    require_regular_file(path);
    std::ifstream in(path, std::ios::binary);
    if (!in) fail_to_open(path);
    return in;
}

bool is_missing(const fs::path& path) {
    std::error_code unknown;
    return fs::status(path, unknown).type() == fs::file_type::not_found;
}

std::string read_whole_file(const std::string& path) {
    std::ifstream in = open_to_read(path);
    std::ostringstream text;
    if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
    if (in.bad() || !text) throw FileError("{}: cannot be read; check the disk", path);
    return std::move(text).str();
}

void require_replaceable(const std::string& path) {
    std::error_code ignored;
    // A rename would put a file in the place of a device, a pipe, or whatever else has the name.
    const fs::file_status status = fs::status(path, ignored);
    if (fs::exists(status) && !fs::is_regular_file(status))
        throw FileError("{}: exists and is not a regular file; choose another name", path);
}

void require_writable(const std::string& path) {
    require_replaceable(path);
    std::error_code ignored;
    const fs::path part = fs::absolute(random_name(behind_links(path))), folder = part.parent_path();
    if (!fs::is_directory(folder, ignored))
        throw FileError("{}: there is no folder {}; create it", path, folder.string());
    if (access(folder.c_str(), W_OK) != 0)
        throw FileError("{}: you may not write into {}; choose another file", path, folder.string());
    const long longest = pathconf(folder.c_str(), _PC_NAME_MAX);
    if (longest > 0 && part.filename().native().size() > static_cast<std::size_t>(longest))
        throw FileError("{}: its name is too long to be written here; choose a shorter one", path);
}

NewFile::NewFile(std::string path) : path_(std::move(path)) {
    require_replaceable(path_);
    file_ = behind_links(path_);
    int file = -1;
    for (int i = 0; i < kMostNames && file < 0; ++i) {
        part_ = random_name(file_);
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
    throw FileError("{}: cannot be written: {}; check the path and your rights", path_, std::strerror(error));
}

NewFile::~NewFile() {
    if (stream_) std::fclose(stream_);
    if (!part_.empty()) unlink(part_.c_str());
}

void NewFile::fail(int error) const {
    throw std::runtime_error(fmt::format("{}: cannot be written{}; make room on the disk or choose another path", path_,
                                         error != 0 ? fmt::format(": {}", std::strerror(error)) : " as a whole"));
}

void NewFile::finish() {
    errno = 0;
    const bool written = std::fflush(stream_) == 0 && !std::ferror(stream_);
    int error = errno;
    const bool closed = std::fclose(std::exchange(stream_, nullptr)) == 0;
    if (written) error = errno;
    if (!written || !closed) fail(error);
    if (std::rename(part_.c_str(), file_.c_str()) != 0) fail(errno);
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

fs::path home_folder() {
    fs::path home = environment("HOME");
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
