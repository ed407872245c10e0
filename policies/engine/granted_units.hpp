// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The grants of a node, as the node itself sees them: which are computed when blocks of its own policy are done (a
// block may reach over the end of a grant into the next one), and how long the node's processors together need for one.
//
// A processor's last blocks tell how long it takes: a line through their times, so that small blocks, such as those by
// which a node learns, do not make it look slow for large ones. How large its policy would make blocks is not known
// here: where they have grown they may grow further, otherwise they stay as large as the largest. A block that takes
// twice as long as those before it admit, or half as long, tells that they are no guide any more.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "models/speed_points.hpp"
#include "policies/engine/free_units.hpp"

namespace apportion {

class GrantedUnits {
  public:
    struct Computed {
        std::int64_t grant = 0;
        double seconds = 0;  ///< see seconds()
        double half_s = 0;   ///< for half as many units; 0: fixed costs are not known
    };

    /// Whether some of the units are in a grant that is not computed.
    bool has(UnitRange range) const;
    bool has(std::int64_t grant, UnitRange range) const;
    /// None of them are. units >= 1.
    void add(std::int64_t grant, UnitRange range);
    /// The last units of a grant that is here, none of which was computed, are not any more. Returns the grant, if
    /// others are left and computed.
    std::optional<Computed> shorten(UnitRange grant, Units by);

    /// `worker` has computed these units, in so many seconds. Returns the grants that are computed with them.
    std::vector<Computed> done(UnitRange range, int worker, double seconds);

    /// In which all workers together compute so many; 0: none has computed anything. One does not count that has ended
    /// no block while the others computed for twice as long as its longest took: it is lost, or as good as that.
    double seconds(double units) const;
    bool empty() const { return grants_.empty(); }

  private:
    static constexpr std::size_t kLastBlocks = 4;  ///< of a worker, that count
    struct Grant {
        std::int64_t id = 0;
        UnitRange range;
        Units left = 0;
    };
    Computed computed(const Grant& grant) const;
    struct Worker {
        std::deque<BlockTime> last_blocks;
        double of_others = 0;                      ///< units since its last block
        double fixed_s = 0, seconds_per_unit = 0;  ///< the line
        double largest = 0;                        ///< of the last blocks
        bool grow = false;                         ///< they do

        void add(BlockTime block);
        bool is_another(BlockTime block) const;
        double speed() const;  ///< in such blocks as the last ones
        double units_within(double seconds) const;
    };
    std::vector<const Worker*> at_work() const;

    std::map<Units, Grant> grants_;  ///< by first unit
    std::map<int, Worker> workers_;
};

}  // namespace apportion
