// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/io/nearest_name.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace apportion {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replace = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replace, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

std::string did_you_mean(std::string_view name, std::span<const std::string> names) {
    const auto nearest =
        std::ranges::min_element(names, {}, [&](const std::string& other) { return edit_distance(name, other); });
    // Two slips, such as exchanged letters, and one in short names.
    const std::size_t most = name.size() > 4 ? 2 : 1 + (name.size() == 4);
    if (nearest == names.end() || edit_distance(name, *nearest) > most) return "";
    return " (did you mean " + *nearest + "?)";
}

}  // namespace apportion
