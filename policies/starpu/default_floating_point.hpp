// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Programs may have floating-point exceptions as signals, and round otherwise.
#pragma once

#include <cfenv>
#include <optional>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace apportion {

/// While it lives, floating-point exceptions of the calling thread are no signals and rounding is to nearest, whatever
/// the program has set: policies reckon with infinities. What they raise is not seen after it.
class DefaultFloatingPoint {
  public:
    DefaultFloatingPoint() {
        if (is_default()) return;
        std::fegetenv(&before_.emplace());
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloatingPoint() {
        if (before_) std::fesetenv(&*before_);
#ifdef __SSE2__
        else if (_mm_getcsr() != control_)
            _mm_setcsr(control_);
#endif
    }
    DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
    DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

  private:
    /// As it nearly always is. To store and load all of the environment takes 0.4 us, of 2.5 us for an empty block.
    bool is_default() const {
#ifdef __SSE2__
        constexpr unsigned kRaised = _MM_EXCEPT_MASK, kNoSignals = _MM_MASK_MASK;
        return (control_ & ~kRaised) == kNoSignals && fegetexcept() == 0 && std::fegetround() == FE_TONEAREST;
#else
        return false;
#endif
    }

#ifdef __SSE2__
    const unsigned control_ = _mm_getcsr();
#endif
    std::optional<std::fenv_t> before_;
};

}  // namespace apportion
