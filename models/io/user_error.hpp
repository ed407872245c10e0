// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a user has to change, for every layer.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace apportion {

/// Something the user has to change: one sentence with place, problem and what to do.
class UserError : public std::runtime_error {
  public:
    explicit UserError(const std::string& sentence) : std::runtime_error(sentence) {}

    /// As fmt::format writes it.
    template <class First, class... Others>
    UserError(fmt::format_string<First, Others...> sentence, First&& first, Others&&... others)
        : UserError(fmt::format(sentence, std::forward<First>(first), std::forward<Others>(others)...)) {}
};

/// A file that cannot be used.
class FileError : public UserError {
  public:
    using UserError::UserError;
};

}  // namespace apportion
