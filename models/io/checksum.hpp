// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A number that tells texts apart, the same on every machine: FNV-1a. Against damage, not against malice.
#pragma once

#include <cstdint>
#include <string_view>

namespace apportion {

inline std::uint64_t checksum(std::string_view text) {
    std::uint64_t sum = 0xcbf29ce484222325;
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return sum;
}

}  // namespace apportion
