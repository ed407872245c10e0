// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The books on late blocks, whose units others compute again while they run on: which units nobody computes again yet,
// which pieces are under way or computed, what is missing. (Backup tasks of MapReduce, Dean and Ghemawat, OSDI 2004,
// section 3.6; in pieces, as rDLB hands out again what is unfinished when nothing else is left: Mohammed, Cavelan,
// Ciorba, 2019.)
//
// Law: each unit of a late block is spare, in a piece under way or in a computed one, exactly one of these.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "policies/engine/free_units.hpp"

namespace apportion {

class Retakes {
  public:
    using Id = std::int64_t;

    /// The units of this block may be computed again.
    void add(Id late, UnitRange range) { late_[late] = {{range}, {}, range.units}; }
    bool contains(Id late) const { return late_.contains(late); }
    Units spare(Id late) const;

    /// Up to that many units become the piece with this id. spare(late) > 0.
    UnitRange take(Id late, Id piece, Units units);

    /// A piece of the block was computed. Whether now nothing is missing any more.
    bool computed(Id late, Id piece);

    /// A piece was not computed: its units are spare again.
    void give_back(Id late, Id piece);

    /// The block is late no more: its pieces, and what nobody had begun to compute again.
    struct Closed {
        std::vector<Id> pieces;
        std::vector<UnitRange> spare;
    };
    Closed close(Id late);

  private:
    struct Late {
        std::vector<UnitRange> spare;
        std::map<Id, UnitRange> pieces;
        Units missing = 0;  ///< not computed again
    };

    std::map<Id, Late> late_;
};

}  // namespace apportion
