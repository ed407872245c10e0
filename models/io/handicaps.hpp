// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The text of APPORTION_HANDICAP: kernels of bundled applications obey it, and the library names the machine by it.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "models/io/text.hpp"

namespace apportion {

inline constexpr const char* kHandicapForm =
    "worker=factor[,worker=factor...] with whole numbers, each worker once, factors from 1 to 1000000, as 1=4";

/// Worker -> factor; nothing where the text has another form.
inline std::optional<std::map<int, int>> parse_handicaps(std::string_view text) {
    constexpr int kMostFactor = 1'000'000;
    std::map<int, int> handicaps;
    for (const std::string_view entry : split(text, ',')) {
        const std::vector<std::string_view> parts = split(entry, '=');
        const auto worker = parse_number<int>(parts.front()), factor = parse_number<int>(parts.back());
        if (parts.size() != 2 || !worker || *worker < 0 || !factor || *factor < 1 || *factor > kMostFactor)
            return std::nullopt;
        if (!handicaps.emplace(*worker, *factor).second) return std::nullopt;
    }
    return handicaps;
}

}  // namespace apportion
