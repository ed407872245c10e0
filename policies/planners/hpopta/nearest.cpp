// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which of several optimal distributions `hpopta` takes where there is one to keep to: a dynamic programme over the
// processors and the units distributed so far.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

#include "policies/planners/hpopta/hpopta.hpp"

namespace apportion {

namespace {

/// How the first processors got their units; what is better is less.
struct Way {
    Units moved = 0;
    double largest_s = 0, second_s = 0;
    Units share = 0;  ///< of the last of them

    auto operator<=>(const Way&) const = default;
    Way plus(Units moved_more, const SizeTime& next) const {
        return {moved + moved_more, std::max(largest_s, next.seconds),
                std::max(second_s, std::min(largest_s, next.seconds)), next.size};
    }
};

}  // namespace

// With at most `most` units moved, where `most` grows until there is a distribution. A way is given up as soon as it
// has moved more, together with what the other processors must move at least.
std::vector<Units> nearest_shares(std::span<const std::span<const SizeTime>> sizes, Units units,
                                  std::span<const Units> previous, std::size_t most_steps) {
    const Units all_previous = std::accumulate(previous.begin(), previous.end(), Units{0});
    std::size_t steps = 0;
    for (Units most = std::max<Units>(std::abs(units - all_previous), 64);; most *= 4) {
        std::vector<std::map<Units, Way>> ways(sizes.size() + 1);  // after each processor, by units distributed
        ways[0][0] = {};
        Units later_previous = all_previous;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            later_previous -= previous[i];
            for (const auto& entry : ways[i]) {
                const Units sum = entry.first;
                const Way& way = entry.second;
                const auto take = [&](const SizeTime& next) {
                    const Units total = sum + next.size, moved = std::abs(next.size - previous[i]);
                    if (way.moved + moved + std::abs(units - total - later_previous) > most) return;
                    const auto [found, is_new] = ways[i + 1].try_emplace(total, way.plus(moved, next));
                    if (!is_new) found->second = std::min(found->second, way.plus(moved, next));
                };
                take({0, 0});
                const Units least = previous[i] - (most - way.moved), largest = previous[i] + (most - way.moved);
                auto next = std::lower_bound(sizes[i].begin(), sizes[i].end(), least,
                                             [](const SizeTime& a, Units size) { return a.size < size; });
                for (; next != sizes[i].end() && next->size <= largest; ++next, ++steps) take(*next);
                if (steps > most_steps) return {};
            }
        }
        if (ways.back().contains(units)) {
            std::vector<Units> shares(sizes.size());
            for (std::size_t i = sizes.size(); i-- > 0; units -= shares[i]) shares[i] = ways[i + 1].at(units).share;
            return shares;
        }
        if (most >= units + all_previous) return {};  // no distribution moves more
    }
}

}  // namespace apportion
