// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which units of a distributed array travel between nodes: every node owns a range of units, ascending by rank, and
// needs some more on either side (a halo). Three things are one here: the distribution at the beginning, when rank 0
// has everything; the exchange of halos; and a new distribution.
//
// Units of a periodic array are numbered on beyond its edges: -1 is a copy of the last unit, in the place before the
// first one.
#pragma once

#include <span>
#include <vector>

#include "policies/engine/free_units.hpp"

namespace apportion {

/// The units of each rank, ascending by rank.
class OwnedRanges {
  public:
    /// `shares`: units per rank.
    explicit OwnedRanges(std::span<const Units> shares);

    int ranks() const { return static_cast<int>(begins_.size()) - 1; }
    Units units() const { return begins_.back(); }
    UnitRange of(int rank) const;
    int owner(Units unit) const;
    std::vector<Units> shares() const;

    bool operator==(const OwnedRanges&) const = default;

  private:
    std::vector<Units> begins_;  ///< of each rank, and the end
};

struct Halo {
    Units units = 0;  ///< on either side
    bool periodic = false;
};

/// What a rank needs: its own units and their halo, as far as there are units; nothing for a rank that has none.
UnitRange with_halo(UnitRange own, Halo halo, Units all);

/// Units that travel. `from` may be `to`: a copy that lies beyond an edge.
struct TravellingUnits {
    int from = 0, to = 0;
    Units source = 0;  ///< the first one, where it is owned ...
    Units target = 0;  ///< ... and its number where it goes
    Units units = 0;
};

/// What has to travel so that rank `to` has the units `wanted`, beside those of `held`, which it has.
std::vector<TravellingUnits> travelling_units(int to, UnitRange wanted, UnitRange held, const OwnedRanges& owners);

/// The most units that one rank gives away or gets when each is to have others of its own.
Units most_moved(const OwnedRanges& from, const OwnedRanges& to);

}  // namespace apportion
