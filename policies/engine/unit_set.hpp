// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A set of units, as ranges.
#pragma once

#include <iterator>
#include <map>

#include "policies/engine/free_units.hpp"

namespace apportion {

class UnitSet {
  public:
    /// False, and without effect, when one of the units is in the set already. Neighbours are joined. O(log ranges).
    bool add(UnitRange range) {
        if (range.units <= 0) return true;
        auto next = end_of_.upper_bound(range.first);
        const Units end = range.first + range.units;
        if (next != end_of_.end() && next->first < end) return false;
        if (next != end_of_.begin() && std::prev(next)->second > range.first) return false;
        if (next != end_of_.begin() && std::prev(next)->second == range.first) {
            next = std::prev(next);
            next->second = end;
        } else {
            next = end_of_.emplace_hint(next, range.first, end);
        }
        const auto behind = std::next(next);
        if (behind == end_of_.end() || behind->first != end) return true;
        next->second = behind->second;
        end_of_.erase(behind);
        return true;
    }

    /// The range is in the set, all of it. O(log ranges).
    void remove(UnitRange range) {
        if (range.units <= 0) return;
        const auto its = std::prev(end_of_.upper_bound(range.first));
        const Units first = its->first, end = its->second, behind = range.first + range.units;
        end_of_.erase(its);
        if (first < range.first) end_of_.emplace(first, range.first);
        if (behind < end) end_of_.emplace(behind, end);
    }

    std::size_t ranges() const { return end_of_.size(); }

  private:
    std::map<Units, Units> end_of_;  ///< by first unit
};

}  // namespace apportion
