// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/core_groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "models/io/text.hpp"

namespace apportion {

namespace {

/// The number behind the last blank; nothing if there is none.
std::optional<Units> number_of(std::string_view name) { return parse_number<Units>(name.substr(name.rfind(' ') + 1)); }

}  // namespace

std::vector<std::vector<std::size_t>> core_groups(std::span<const int> nodes, std::span<const Units> wanted) {
    std::vector<std::vector<std::size_t>> groups;
    std::size_t of_node = 0;  // groups of this node
    for (std::size_t w = 0; w < nodes.size(); ++w) {
        const bool together = w > 0 && nodes[w] >= 0 && nodes[w] == nodes[w - 1];
        if (!together) of_node = 0;
        const Units most = wanted.empty() || !together ? 1 : wanted[std::min(of_node, wanted.size()) - 1];
        if (together && static_cast<Units>(groups.back().size()) < most) {
            groups.back().push_back(w);
        } else {
            groups.push_back({w});
            ++of_node;
        }
    }
    return groups;
}

std::string group_name(std::span<const std::string> names) {
    if (names.size() == 1) return names.front();
    const std::string stem = names.front().substr(0, names.front().rfind(' ') + 1);
    const auto first = number_of(names.front());
    for (std::size_t k = 0; k < names.size(); ++k)
        if (!first || names[k] != fmt::format("{}{}", stem, *first + static_cast<Units>(k)))
            return fmt::format("{}", fmt::join(names, "+"));
    return fmt::format("{}-{}", names.front(), *first + static_cast<Units>(names.size()) - 1);
}

std::vector<UnitRange> equal_parts(UnitRange range, Units granularity, Units parts) {
    const Units granules = quotient_up(range.units, granularity);
    const Units count = std::min(parts, granules);
    std::vector<UnitRange> result;
    const Units end = range.first + range.units;
    for (Units k = 0, first = range.first; k < count; ++k) {
        const Units its_granules = granules / count + (k < granules % count ? 1 : 0);
        result.push_back({first, k + 1 < count ? its_granules * granularity : end - first});
        first += result.back().units;
    }
    return result;
}

}  // namespace apportion
