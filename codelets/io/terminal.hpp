// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Columns of text and of terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace apportion {

/// Characters of a text in UTF-8, of which each takes one column.
std::size_t width_of(std::string_view text);

/// With blanks behind it up to that many columns.
std::string padded(std::string text, std::size_t columns);

/// Columns of the terminal behind that file descriptor; 0: it is none.
std::size_t terminal_columns(int file);

/// The text with an end of line; on a terminal in lines that fit it, broken at blanks.
std::string output_line(const std::string& text);

}  // namespace apportion
