// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/io/shown.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace apportion {

namespace {

bool steers(char32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0)          // control characters
           || code == 0x61c || code == 0x200e || code == 0x200f  // marks of direction
           || (code >= 0x2028 && code <= 0x202e)                 // line separators, directions
           || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

std::string escaped(char32_t code) {
    if (code == '\n') return "\\n";
    if (code == '\t') return "\\t";
    if (code == '\r') return "\\r";
    const auto number = static_cast<unsigned>(code);
    return code < 0x100 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
}

}  // namespace

Character first_character(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80) return {byte(0), 1};
    const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes) return {};
    char32_t code = byte(0) & (0x7fU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return {};
        code = code << 6 | (byte(i) & 0x3fU);
    }
    constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < kSmallest[bytes] || code > 0x10ffff || surrogate ? Character{} : Character{code, bytes};
}

std::string shown(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto [code, bytes] = first_character(text);
        if (bytes == 0)
            out += escaped(static_cast<unsigned char>(text.front()));
        else if (steers(code))
            out += escaped(code);
        else
            out += text.substr(0, bytes);
        text.remove_prefix(std::max<std::size_t>(bytes, 1));
    }
    return out;
}

std::string shortened(std::string_view text, std::size_t longest) {
    std::size_t end = 0;
    while (end < text.size() && end < longest) end += std::max<std::size_t>(first_character(text.substr(end)).bytes, 1);
    return shown(text.substr(0, end)) + (end < text.size() ? "..." : "");
}

std::string in_quotes(std::string_view text) {
    constexpr std::size_t kLongest = 40;
    return "'" + shortened(text, kLongest) + "'";
}

}  // namespace apportion
