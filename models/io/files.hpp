// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How files are read and written, and where those of the user lie, for every layer.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iosfwd>
#include <string>

#include "models/io/user_error.hpp"

namespace apportion {

// The one way in which files are opened to be read, for every layer: regular files only. A pipe would block forever
// where no program writes, and a device such as /dev/zero has no end.

/// Throws FileError when there is a pipe, a device, a folder, or nothing.
void require_regular_file(const std::string& path);

/// The file, open. Throws FileError.
std::ifstream open_to_read(const std::string& path);

/// Whether there is nothing of that name. Of what may not be looked at nobody knows: opening it tells why.
bool is_missing(const std::filesystem::path& path);

/// All of it. Throws FileError.
std::string read_whole_file(const std::string& path);

// The one way in which files are written, for every layer: into a part beside the file that replaces it when it is
// whole. An older file stays until then, and a failure leaves nothing behind. The part has a name that cannot be known
// beforehand and is created by this process, so that neither a planted link nor the part of a process that was killed
// is in the way. A link at the path stays, and the file behind it is the one that is replaced.

/// Throws UserError where the file that is to be written is the one that is read.
void refuse_overwriting(const std::string& in, const std::string& out);

class NewFile {
  public:
    /// Creates the part, empty. Anything but a regular file at `path` is left alone. Throws FileError.
    explicit NewFile(std::string path);
    /// Removes the part unless it has replaced the file.
    ~NewFile();
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    std::FILE* stream() const { return stream_; }
    /// For libraries and programs that open files by name.
    const std::string& part() const { return part_; }

    /// Puts the part in the place of the file. Throws std::runtime_error when it could not be written as a whole.
    void finish();

  private:
    [[noreturn]] void fail(int error) const;

    std::string path_;         ///< as it was given
    std::string file_, part_;  ///< what is replaced, behind links, and what replaces it
    std::FILE* stream_ = nullptr;
};

// To be called before long work.

/// Throws FileError where what is at `path` is no file.
void require_replaceable(const std::string& path);
/// The same where NewFile could not make its part, either.
void require_writable(const std::string& path);

/// Replaces the file by what `write` writes. Throws FileError, std::runtime_error and whatever `write` throws.
void replace_file(const std::string& path, const std::function<void(std::ostream&)>& write);

// Where files of the user lie, for every layer. A folder that others can foresee and write to, such as one in /tmp, is
// never one of them.

/// HOME, or what the system's list of users says where that is not set. Throws FileError when there is none.
std::filesystem::path home_folder();

/// What can be made again: XDG_CACHE_HOME or .cache in the home folder, and in it apportion. Throws FileError.
std::filesystem::path cache_folder();

/// What is kept: XDG_DATA_HOME or .local/share in the home folder, and in it apportion. Throws FileError.
std::filesystem::path data_folder();

}  // namespace apportion
