// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/io/terminal.hpp"

#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include <sstream>

#include "models/io/shown.hpp"

namespace apportion {

namespace {

/// While it lives, this thread's characters are those of Unicode, whatever locale the program has.
class Unicode {
  public:
    Unicode() : before_(uselocale(locale())) {}
    ~Unicode() { uselocale(before_); }
    Unicode(const Unicode&) = delete;
    Unicode& operator=(const Unicode&) = delete;

  private:
    /// None where the system lacks it, which changes nothing: characters other than ASCII are one column wide then.
    static locale_t locale() {
        static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
        return unicode;
    }

    locale_t before_;
};

/// Of the text's first character; what is no character is one byte and one column.
struct Extent {
    std::size_t bytes, columns;
};

Extent first_extent(std::string_view text) {
    const auto [code, bytes] = first_character(text);
    if (bytes == 0) return {1, 1};
    const int columns = wcwidth(static_cast<wchar_t>(code));
    return {bytes, columns < 0 ? 1 : static_cast<std::size_t>(columns)};
}

}  // namespace

std::size_t width_of(std::string_view text) {
    const Unicode unicode;
    std::size_t width = 0;
    while (!text.empty()) {
        const auto [bytes, columns] = first_extent(text);
        width += columns;
        text.remove_prefix(bytes);
    }
    return width;
}

std::string padded(std::string text, std::size_t columns) {
    const std::size_t width = width_of(text);
    return text.append(columns > width ? columns - width : 0, ' ');
}

std::size_t terminal_columns(int file) {
    winsize size = {};
    return isatty(file) == 1 && ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string cut_to(const std::string& text, std::size_t columns) {
    if (columns == 0) return text;
    const Unicode unicode;
    std::size_t end = 0;
    for (std::size_t used = 0; end < text.size();) {
        const auto [bytes, its_columns] = first_extent(std::string_view(text).substr(end));
        used += its_columns;
        if (used > columns) break;
        end += bytes;
    }
    return text.substr(0, end);
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
