// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <fmt/format.h>

#include <string>

namespace apportion {

/// "1.23 s", "45.6 ms", "7.8 us".
inline std::string seconds_text(double seconds) {
    if (seconds >= 1 || seconds <= 0) return fmt::format("{:.4g} s", seconds);
    return seconds >= 1e-3 ? fmt::format("{:.4g} ms", seconds * 1e3) : fmt::format("{:.4g} us", seconds * 1e6);
}

/// "0.86 %", "12 %".
inline std::string percent_text(double percent) {
    return percent < 10 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

}  // namespace apportion
