// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Text of options, variables, files and sentences: numbers, lists, checksums.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
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

/// "1 block", "2 blocks".
template <class Number>
std::string counted(Number count, std::string_view what) {
    return std::to_string(count).append(" ").append(what).append(count == 1 ? "" : "s");
}

/// Of what is counted: "is" or "are".
template <class Number>
constexpr const char* is_or_are(Number count) {
    return count == 1 ? "is" : "are";
}

/// Empty where the variable is not set.
inline std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

/// A number that tells texts apart, the same on every machine: FNV-1a. Against damage, not against malice.
inline std::uint64_t checksum(std::string_view text) {
    std::uint64_t sum = 0xcbf29ce484222325;
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return sum;
}

}  // namespace apportion
