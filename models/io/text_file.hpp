// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Strict reading of tables in text files. Whatever is wrong throws FileError with one sentence that begins with the
// file's name and its line.
#pragma once

#include <fmt/core.h>

#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/io/user_error.hpp"

namespace apportion {

class TextFile {
  public:
    /// Opens an existing regular file.
    explicit TextFile(const std::string& path);
    /// Reads `in`, which must outlive it, under that name.
    TextFile(std::istream& in, std::string name) : path_(std::move(name)), in_(&in) {}
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;

    /// Moves to the next line; false at the end. Carriage returns before line ends are no part of lines, nor
    /// is the byte order mark that some programs begin files with.
    bool next();

    const std::string& line() const { return line_; }
    std::size_t number() const { return number_; }  ///< of the line, from 1 on

    /// The line's fields, without blanks around them. A separator ' ' stands for any number of blanks; between commas a
    /// field may stand in quotes, a quote inside is doubled.
    std::vector<std::string> fields(char separator) const;

    /// A finite number, all of `text`; `what` names it in the complaint.
    double value(std::string_view text, std::string_view what) const;

    /// Throws; the sentence begins with file and line: this one, ...
    [[noreturn]] void fail(const std::string& problem) const { fail_in(number_, problem); }
    /// ... as fmt::format writes it, ...
    template <class First, class... Others>
    [[noreturn]] void fail(fmt::format_string<First, Others...> problem, First&& first, Others&&... others) const {
        fail(fmt::format(problem, std::forward<First>(first), std::forward<Others>(others)...));
    }
    /// ... or another line.
    [[noreturn]] void fail_in(std::size_t line, const std::string& problem) const;

  private:
    std::size_t read_quoted(std::size_t at, std::string& field) const;

    std::string path_;
    std::ifstream file_;
    std::istream* in_;
    std::string line_;
    std::size_t number_ = 0;
};

/// Without blanks around it.
std::string_view trimmed(std::string_view text);

/// Hands what standard output still buffers to the system; a program that printed ends with it. Throws when anything
/// printed so far could not be written: a full disk, a closed pipe.
void flush_standard_output();

}  // namespace apportion
