// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Text on terminals of any width. A width of 0 is that of no terminal: nothing is cut or broken.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace apportion {

/// Columns that the text takes: a Chinese character takes two, an accent that stands over the letter before it none.
std::size_t width_of(std::string_view text);

/// With blanks behind it up to that many columns.
std::string padded(std::string text, std::size_t columns);

/// Columns of the terminal behind that file descriptor; 0: it is none.
std::size_t terminal_columns(int file);

/// The text, cut to that many columns.
std::string cut_to(const std::string& text, std::size_t columns);

/// Lines of at most that many columns, broken at blanks; a longer word has a line of its own.
std::string wrapped(const std::string& text, std::size_t columns);

/// The same for the terminal of standard output, with an end of line.
std::string output_line(const std::string& text);

}  // namespace apportion
