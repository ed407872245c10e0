// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Strict reading of tables in text files, and writing that leaves nothing half-written. Whatever is wrong throws
// std::runtime_error with one sentence that begins with the file's name, and its line where there is one.
#pragma once

#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace apportion {

class TextFile {
  public:
    /// Opens an existing regular file.
    explicit TextFile(const std::string& path);

    /// Moves to the next line; false at the end. Carriage returns before line ends are no part of lines.
    bool next();

    const std::string& line() const { return line_; }
    std::size_t number() const { return number_; }  ///< of the line, from 1 on

    /// The line's fields, without spaces around them. A separator ' ' stands for any number of blanks.
    std::vector<std::string_view> fields(char separator) const;

    /// A finite number, all of `text`; `what` names it in the complaint.
    double value(std::string_view text, std::string_view what) const;

    /// Throws; the sentence begins with file and line.
    [[noreturn]] void fail(const std::string& problem) const;

  private:
    std::string path_;
    std::ifstream stream_;
    std::string line_;
    std::size_t number_ = 0;
};

/// Writes into a temporary file beside `path` that then replaces it. Anything but a regular file is left alone.
void write_text_file(const std::string& path, const std::function<void(std::FILE*)>& write);

/// Hands what standard output still buffers to the system; a program that printed ends with it. Throws when anything
/// printed so far could not be written: a full disk, a closed pipe.
void flush_standard_output();

}  // namespace apportion
