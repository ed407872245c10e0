// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a user has to change, for every layer.
#pragma once

#include <stdexcept>

namespace apportion {

/// Something the user has to change: one sentence with place, problem and what to do.
class UserError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A file that cannot be used.
class FileError : public UserError {
  public:
    using UserError::UserError;
};

}  // namespace apportion
