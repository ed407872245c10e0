// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The blocks of a share in the order in which they are handed out, equal ones counted: a share far above a device's
// memory is millions of them.
#pragma once

#include <algorithm>
#include <deque>
#include <initializer_list>

#include "policies/policy.hpp"

namespace apportion {

class BlockRuns {
  public:
    /// `count` blocks of `units` each.
    struct Run {
        Units units = 0;
        Units count = 0;
        bool operator==(const Run&) const = default;
    };

    BlockRuns() = default;
    BlockRuns(std::initializer_list<Run> runs) {
        for (const Run& run : runs) push_back(run);
    }

    void push_back(Run run) {
        if (run.units > 0 && run.count > 0) runs_.push_back(run);
    }
    void push_front(Units units) {
        if (units > 0) runs_.push_front({units, 1});
    }
    void clear() { runs_.clear(); }

    bool empty() const { return runs_.empty(); }
    Units front() const { return runs_.front().units; }  ///< units of the next block
    const std::deque<Run>& runs() const { return runs_; }

    Units total() const {
        Units sum = 0;
        for (const Run& run : runs_) sum += run.units * run.count;
        return sum;
    }

    /// Takes at most `most` units of the next block, whose others stay in front, and returns how many.
    Units take_front(Units most) {
        const Units units = front(), taken = std::min(units, std::max<Units>(most, 0));
        if (taken == 0) return 0;
        if (--runs_.front().count == 0) runs_.pop_front();
        push_front(units - taken);
        return taken;
    }

    /// Takes away that many units, the last ones first; all if there are not so many.
    void drop_back(Units units) {
        while (units > 0 && !runs_.empty()) {
            Run& last = runs_.back();
            const Units whole = std::min(units / last.units, last.count), size = last.units;
            last.count -= whole;
            units -= whole * size;
            if (last.count == 0) {
                runs_.pop_back();
            } else if (units > 0) {
                --last.count;
                if (last.count == 0) runs_.pop_back();
                push_back({size - units, 1});
                units = 0;
            }
        }
    }

    bool operator==(const BlockRuns&) const = default;

  private:
    std::deque<Run> runs_;
};

}  // namespace apportion
