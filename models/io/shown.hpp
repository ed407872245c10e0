// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Text from files, from the environment and from other programs as a terminal may show it, for every layer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace apportion {

/// A character at the beginning of a text: its code point and length in bytes, or no length where it is no UTF-8.
struct Character {
    char32_t code = 0;
    std::size_t bytes = 0;
};

/// Of a text that is not empty.
Character first_character(std::string_view text);

/// The text as valid UTF-8 on one line. What would steer a terminal or change the order of what is read (control
/// characters, bidirectional marks, line separators), and bytes that are no UTF-8, become \n, \t, \x1b, \u202e, ...
/// Everything else stays as it is, a backslash too, so that shown text is shown as it is.
std::string shown(std::string_view text);

/// Shown, and cut behind about so many bytes, as "..." says then.
std::string shortened(std::string_view text, std::size_t longest);

/// A value of a file in a message: shown, in single quotes, and cut where it is long.
std::string in_quotes(std::string_view text);

}  // namespace apportion
