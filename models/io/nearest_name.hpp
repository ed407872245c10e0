// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The name that a misspelt one may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace apportion {

/// Insertions, deletions and replacements of bytes that make b of a.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// " (did you mean NAME?)", or nothing where none of the names is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> names);

}  // namespace apportion
