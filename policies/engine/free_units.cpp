// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/free_units.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace apportion {

void FreeUnits::insert(Units first, Piece piece) {
    pieces_[first] = piece;
    of(piece.owner).insert(first);
    if (piece.owner != kNobody) owned_by_size_.emplace(piece.units, -first);
    count_ += piece.units;
}

FreeUnits::Pieces::iterator FreeUnits::erase(Pieces::iterator piece) {
    const auto [first, old] = *piece;
    of(old.owner).erase(first);
    if (old.owner != kNobody) owned_by_size_.erase({old.units, -first});
    count_ -= old.units;
    return pieces_.erase(piece);
}

void FreeUnits::add(UnitRange range, int owner) {
    auto next = pieces_.lower_bound(range.first);
    if (next != pieces_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second.units == range.first && before->second.owner == owner) {
            range = {before->first, before->second.units + range.units};
            next = erase(before);
        }
    }
    if (next != pieces_.end() && range.first + range.units == next->first && next->second.owner == owner) {
        range.units += next->second.units;
        erase(next);
    }
    insert(range.first, {range.units, owner});
}

FreeUnits::Pieces::const_iterator FreeUnits::choose(int processor) const {
    for (const int owner : {processor, kNobody})
        if (!of(owner).empty()) return pieces_.find(*of(owner).begin());
    return pieces_.find(-owned_by_size_.rbegin()->second);
}

Progress::NextUnits FreeUnits::next(int processor) const {
    const auto& [first, piece] = *choose(processor);
    return {{first, piece.units}, piece.owner != kNobody && piece.owner != processor};
}

/// Whole pieces, and the beginning or the end of one.
void FreeUnits::remove(UnitRange range) {
    const Units end = range.first + range.units;
    auto it = std::prev(pieces_.upper_bound(range.first));
    if (it->first == range.first && end < range.first + it->second.units && it->second.owner == kNobody) {
        // The beginning of a piece, most often: nothing is allocated anew for what is left of it.
        auto piece = pieces_.extract(it);
        auto first = of(kNobody).extract(range.first);
        piece.key() = first.value() = end;
        piece.mapped().units -= range.units;
        count_ -= range.units;
        pieces_.insert(std::move(piece));
        of(kNobody).insert(std::move(first));
        return;
    }
    while (it != pieces_.end() && it->first < end) {
        const auto [first, piece] = *it;
        it = erase(it);
        if (first < range.first) insert(first, {range.first - first, piece.owner});
        if (first + piece.units > end) insert(end, {first + piece.units - end, piece.owner});
    }
}

UnitRange FreeUnits::take(int processor, Units units, Units granularity) {
    assert(count_ > 0 && units > 0);
    const auto chosen = choose(processor);
    const auto [first, piece] = *chosen;
    UnitRange taken{first, std::min(units, piece.units)};
    if (piece.owner != kNobody && piece.owner != processor) {
        // From the end, which may be the load's and no whole granule: the granules before it stay whole.
        const Units rest = piece.units % granularity;
        if (taken.units < piece.units && taken.units >= rest) taken.units -= (taken.units - rest) % granularity;
        taken.first = first + piece.units - taken.units;
    } else {
        // A range that is too small grows to the left first, by what the neighbour there, asked before, left of its
        // own: neighbours that trade some units from run to run keep their shares in one piece.
        if (piece.owner == processor && taken.units < units && chosen != pieces_.begin()) {
            const auto left = std::prev(chosen);
            if (left->first + left->second.units == first) {
                Units more = std::min(units - taken.units, left->second.units);
                more -= more % granularity;
                taken = {first - more, taken.units + more};
            }
        }
        for (auto right = std::next(chosen); right != pieces_.end() && taken.units < units; ++right) {
            if (right->first != taken.first + taken.units) break;
            taken.units += std::min(units - taken.units, right->second.units);
        }
    }
    remove(taken);
    return taken;
}

UnitRange FreeUnits::last_before(Units end, Units granularity) const {
    for (auto piece = pieces_.lower_bound(end); piece != pieces_.begin();) {
        --piece;
        const auto& [first, its] = *piece;
        if (its.owner != kNobody) break;
        const Units units = std::min(end - first, its.units) / granularity * granularity;
        if (units > 0) return {first, units};
    }
    return {};
}

std::optional<UnitRange> FreeUnits::take_before(Units end, Units units, Units granularity) {
    const UnitRange last = last_before(end, granularity);
    if (last.units <= units) return {};
    const UnitRange taken{last.first + last.units - units, units};
    remove(taken);
    return taken;
}

Units FreeUnits::withdraw(UnitRange range) {
    const Units end = range.first + range.units;
    Units first = end;
    for (auto piece = pieces_.lower_bound(end); piece != pieces_.begin() && first > range.first;) {
        --piece;
        if (piece->first + piece->second.units < first) break;
        first = std::max(piece->first, range.first);
    }
    if (first < end) remove({first, end - first});
    return end - first;
}

}  // namespace apportion
