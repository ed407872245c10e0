// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The units of a load that are in no block, as ranges, and which of them a processor is given. In a load that runs
// again a range has an owner, the processor that computed it before: one that takes its own units again finds their
// data where they are.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

class FreeUnits {
  public:
    static constexpr int kNobody = -1;

    explicit FreeUnits(std::size_t processors) : of_owner_(processors + 1) {}

    Units count() const { return count_; }

    /// The range is free, disjoint from all others that are; it joins neighbours of the same owner. O(log ranges).
    void add(UnitRange range, int owner);

    /// From which take() would take. count() > 0. O(log ranges).
    Progress::NextUnits next(int processor) const;

    /// Takes up to `units` units, in one piece: of the processor's own ranges the first, else of those without owner,
    /// else of the longest of another processor, from its end, as that one goes on from the beginning. A piece that
    /// goes on to the load's end may be no multiple of the granularity. count() > 0. O(log ranges) for each range it
    /// takes from.
    UnitRange take(int processor, Units units, Units granularity);

    /// The last free units before that one that are whole granules, in one piece; none where they have an owner.
    /// O(log ranges), and as many as are pieces without a granule behind them.
    UnitRange last_before(Units end, Units granularity) const;

    /// Takes so many units from their end; nothing where that would be all of them.
    std::optional<UnitRange> take_before(Units end, Units units, Units granularity);

    /// Takes the free units with which the range ends, whoever owns them. Returns how many: 0 where its last one is not
    /// free. O(log ranges) for each range it takes from.
    Units withdraw(UnitRange range);

  private:
    struct Piece {
        Units units = 0;
        int owner = kNobody;
    };
    using Pieces = std::map<Units, Piece>;  ///< by first unit

    std::set<Units>& of(int owner) { return of_owner_[static_cast<std::size_t>(owner + 1)]; }
    const std::set<Units>& of(int owner) const { return of_owner_[static_cast<std::size_t>(owner + 1)]; }
    void insert(Units first, Piece piece);
    Pieces::iterator erase(Pieces::iterator piece);
    void remove(UnitRange range);
    Pieces::const_iterator choose(int processor) const;

    Pieces pieces_;
    std::vector<std::set<Units>> of_owner_;            ///< first units, by owner + 1
    std::set<std::pair<Units, Units>> owned_by_size_;  ///< (units, -first) of pieces with an owner
    Units count_ = 0;
};

}  // namespace apportion
