// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The one way in which files are written, for every layer: into a part beside the file that replaces it when it is
// whole. An older file stays until then, and a failure leaves nothing behind. The part has a name that cannot be known
// beforehand and is created by this process, so that neither a planted link nor the part of a process that was killed
// is in the way.
#pragma once

#include <cstdio>
#include <functional>
#include <iosfwd>
#include <string>

#include "models/io/user_error.hpp"

namespace apportion {

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

    std::string path_, part_;
    std::FILE* stream_ = nullptr;
};

/// Throws FileError where NewFile would refuse what is at `path`: to be called before long work.
void require_replaceable(const std::string& path);

/// Replaces the file by what `write` writes. Throws FileError, std::runtime_error and whatever `write` throws.
void replace_file(const std::string& path, const std::function<void(std::ostream&)>& write);

}  // namespace apportion
