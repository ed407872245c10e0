// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The books on blocks that take longer than they should and whose units others may compute as well: a late block runs
// on, its units become spare, copies of parts of it are handed out, and whoever is done first counts. (Backup tasks of
// MapReduce, Dean and Ghemawat, OSDI 2004, section 3.6; here the copies are smaller than what they replace, so that
// several processors share a late block.)
//
// Law: each unit of a late block is spare, in a copy in flight or in a copy that was computed, exactly one of these.
// A copy is not copied again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

class LateBlocks {
  public:
    using Id = std::int64_t;
    struct Range {
        Units first = 0;
        Units units = 0;
    };

    /// A block in flight, no copy, is late: all its units are spare.
    void add(Id late, Range range);
    bool contains(Id late) const { return late_.count(late) > 0; }
    bool is_copy(Id block) const { return original_of_.count(block) > 0; }
    std::size_t count() const { return late_.size(); }

    Units spare() const { return spare_; }

    /// Up to that many spare units, of the block that has been late longest, become the copy with this id. spare() > 0.
    Range take(Id copy, Units units);

    /// A copy was computed. Returns the late block when nothing is missing of it any more; it is forgotten.
    std::optional<Id> computed(Id copy);

    /// A copy was not computed: its units are spare again.
    void give_back(Id copy);

    /// A late block ended by itself, and is forgotten. Returns all its copies, which do not count.
    std::vector<Id> ended(Id late);

    /// A late block will not end: its copies become ordinary blocks. Returns what was still spare of it.
    std::vector<Range> release(Id late);

  private:
    struct Late {
        std::vector<Range> spare;
        std::map<Id, Range> copies;
        Units missing = 0;  ///< not computed by a copy
    };
    using Lates = std::map<Id, Late>;

    Late take_out(Id late);

    Lates late_;
    std::map<Id, Id> original_of_;  ///< copy -> late block
    Units spare_ = 0;
};

}  // namespace apportion
