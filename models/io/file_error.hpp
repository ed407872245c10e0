// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is wrong with a file, for every layer.
#pragma once

#include <stdexcept>

namespace apportion {

/// A file that cannot be used: one sentence with place, problem and what to do.
class FileError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace apportion
