// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Programs may have floating-point exceptions as signals, and round otherwise.
#pragma once

#include <cfenv>

namespace apportion {

/// While it lives, floating-point exceptions of the calling thread are no signals and rounding is to nearest, whatever
/// the program has set: policies reckon with infinities.
class DefaultFloatingPoint {
  public:
    DefaultFloatingPoint() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloatingPoint() { std::fesetenv(&before_); }
    DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
    DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

  private:
    std::fenv_t before_{};
};

}  // namespace apportion
