// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Numbers and lists in options, variables and files.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace apportion {

/// The number that all of `text` is; nothing where it is none, or out of the type's range. As std::from_chars reads it:
/// no blanks and no '+', but "inf" and "nan".
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The parts between the separators: one more than there are separators, each may be empty.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t at = 0; at <= text.size(); at += parts.back().size() + 1)
        parts.push_back(text.substr(at, text.find(separator, at) - at));
    return parts;
}

}  // namespace apportion
