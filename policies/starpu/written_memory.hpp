// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the blocks of a run write in main memory, to find blocks that would write the same: they run at once, so that
// chance would decide whose results stay.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "policies/engine/block_flow.hpp"
#include "policies/starpu/block_data.hpp"

namespace apportion {

class WrittenMemory {
  public:
    /// Notes the block, and returns the units of one beside it that writes some of the same memory, and may run at the
    /// same time: two of a processor without own memory do not. Nothing where neither of its neighbours does, or is
    /// known. Several of the same units are no neighbours: one counts. O(log blocks).
    std::optional<UnitRange> add(const Block& block, const BlockData& its);

  private:
    struct Region {
        const std::byte* data;
        DataShape shape;

        bool overlaps(const Region& other) const;
    };
    struct Written {
        Units units;
        int processor;  ///< which runs one after the other, or below 0
        std::vector<Region> regions;
    };
    using Blocks = std::map<Units, Written>;  ///< by first unit

    static bool overlap(const Written& one, const Written& other);

    Blocks blocks_;
};

}  // namespace apportion
