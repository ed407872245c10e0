// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta_blocks.hpp"

#include <numeric>

namespace apportion {

TimeSortedBlocks::TimeSortedBlocks(const SizeTimes& sizes) : seconds_(sizes.count()), points_(sizes.count()) {
    for (std::size_t first = 0; first < seconds_.size(); first += kBlock) {
        const std::size_t last = std::min(first + kBlock, seconds_.size());
        const auto points = points_.begin() + static_cast<std::ptrdiff_t>(first);
        std::iota(points, points + static_cast<std::ptrdiff_t>(last - first), std::uint8_t{0});
        std::sort(points, points + static_cast<std::ptrdiff_t>(last - first),
                  [&](std::uint8_t a, std::uint8_t b) { return sizes.seconds(first + a) < sizes.seconds(first + b); });
        for (std::size_t k = first; k < last; ++k) seconds_[k] = sizes.seconds(first + points_[k]);
    }
}

}  // namespace apportion
