// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/io/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

namespace apportion {

namespace {

/// Of UTF-8, those that begin a character.
bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

}  // namespace

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string padded(std::string text, std::size_t columns) {
    const std::size_t width = width_of(text);
    return text.append(columns > width ? columns - width : 0, ' ');
}

std::size_t terminal_columns(int file) {
    winsize size = {};
    return isatty(file) == 1 && ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string output_line(const std::string& text) {
    const std::size_t columns = terminal_columns(STDOUT_FILENO);
    if (columns == 0 || width_of(text) <= columns) return text + "\n";
    std::string out;
    std::size_t used = 0;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const bool fits = used + 1 + width_of(word) <= columns;
        if (used > 0) out += fits ? ' ' : '\n';
        used = width_of(word) + (used > 0 && fits ? used + 1 : 0);
        out += word;
    }
    return out + "\n";
}

}  // namespace apportion
