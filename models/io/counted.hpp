// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Numbers of things in sentences.
#pragma once

#include <string>
#include <string_view>

namespace apportion {

/// "1 block", "2 blocks".
template <class Number>
std::string counted(Number count, std::string_view what) {
    return std::to_string(count).append(" ").append(what).append(count == 1 ? "" : "s");
}

}  // namespace apportion
