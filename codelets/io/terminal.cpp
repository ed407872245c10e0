// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/io/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

namespace apportion {

namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::size_t terminal_columns(int file) {
    winsize size = {};
    return isatty(file) == 1 && ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string cut_to(const std::string& text, std::size_t columns) {
    if (columns == 0) return text;
    std::string out;
    std::size_t used = 0;
    for (const char c : text) {
        if (begins_character(c) && used++ == columns) break;
        out += c;
    }
    return out;
}

std::string wrapped(const std::string& text, std::size_t columns) {
    if (columns == 0 || width_of(text) <= columns) return text;
    std::string out;
    std::size_t used = 0;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const std::size_t width = width_of(word);
        if (used > 0) {
            const bool fits = used + 1 + width <= columns;
            out += fits ? ' ' : '\n';
            used = fits ? used + 1 : 0;
        }
        out += word;
        used += width;
    }
    return out;
}

std::string output_line(const std::string& text) { return wrapped(text, terminal_columns(STDOUT_FILENO)) + "\n"; }

}  // namespace apportion
