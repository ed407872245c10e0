// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What runs learn of units that are unlike: what each costs by its place in the load.
#pragma once

#include <cstdint>
#include <vector>

namespace apportion {

/// Blocks together.
struct BlockSums {
    double blocks = 0;
    double work = 0;  ///< of their units, in average ones
    double seconds = 0;

    void add(double times, const BlockSums& other) {
        blocks += times * other.blocks, work += times * other.work, seconds += times * other.seconds;
    }
    void add_blocks(double count, const BlockSums& of) {
        if (count > 0 && of.blocks > 0) add(count / of.blocks, of);
    }
    double unit_s() const { return work > 0 ? seconds / work : 0; }

    bool operator==(const BlockSums&) const = default;
};

struct LearntUnitCosts {
    /// From unit `first` up to the next piece.
    struct Piece {
        std::int64_t first = 0;
        double cost = 0;  ///< of a unit, in average ones; > 0

        bool operator==(const Piece&) const = default;
    };
    std::int64_t units = 0;             ///< of the load; another number of units is another load
    std::vector<Piece> pieces;          ///< by ascending units from 0 on; none: units are alike
    std::vector<BlockSums> processors;  ///< each one's blocks of the last run that it had a part in

    bool operator==(const LearntUnitCosts&) const = default;
};

}  // namespace apportion
