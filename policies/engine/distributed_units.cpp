// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/distributed_units.hpp"

#include <algorithm>
#include <iterator>

namespace apportion {

namespace {

Units end_of(UnitRange range) { return range.first + range.units; }

Units in_both(UnitRange one, UnitRange other) {
    return std::max<Units>(0, std::min(end_of(one), end_of(other)) - std::max(one.first, other.first));
}

}  // namespace

OwnedRanges::OwnedRanges(std::span<const Units> shares) : begins_{0} {
    for (const Units units : shares) begins_.push_back(begins_.back() + units);
}

UnitRange OwnedRanges::of(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return {begins_[r], begins_[r + 1] - begins_[r]};
}

int OwnedRanges::owner(Units unit) const {
    return static_cast<int>(std::distance(begins_.begin(), std::ranges::upper_bound(begins_, unit))) - 1;
}

std::vector<Units> OwnedRanges::shares() const {
    std::vector<Units> shares;
    for (int rank = 0; rank < ranks(); ++rank) shares.push_back(of(rank).units);
    return shares;
}

UnitRange with_halo(UnitRange own, Halo halo, Units all) {
    if (own.units == 0) return own;
    UnitRange range{own.first - halo.units, own.units + 2 * halo.units};
    if (halo.periodic) return range;
    range.first = std::max<Units>(0, range.first);
    range.units = std::min(all, end_of(own) + halo.units) - range.first;
    return range;
}

std::vector<TravellingUnits> travelling_units(int to, UnitRange wanted, UnitRange held, const OwnedRanges& owners) {
    std::vector<TravellingUnits> all;
    const auto bring = [&](Units begin, Units end) {
        while (begin < end) {
            const Units source = (begin % owners.units() + owners.units()) % owners.units();
            const int from = owners.owner(source);
            const Units units = std::min(end - begin, end_of(owners.of(from)) - source);
            if (from != to || source != begin) all.push_back({from, to, source, begin, units});
            begin += units;
        }
    };
    if (in_both(wanted, held) == 0) {
        bring(wanted.first, end_of(wanted));
    } else {
        bring(wanted.first, held.first);
        bring(end_of(held), end_of(wanted));
    }
    return all;
}

Units most_moved(const OwnedRanges& from, const OwnedRanges& to) {
    Units most = 0;
    for (int rank = 0; rank < from.ranks(); ++rank) {
        const Units stay = in_both(from.of(rank), to.of(rank));
        most = std::max({most, from.of(rank).units - stay, to.of(rank).units - stay});
    }
    return most;
}

}  // namespace apportion
