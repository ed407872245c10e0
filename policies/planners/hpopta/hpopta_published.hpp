// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `hpopta-published`: HPOPTA as printed in Khaleghzadeh, Reddy, Lastovetsky, section 5, Algorithms 1 and 2. Depth-first
// search over the processors, the sizes of each in ascending order of time, with the paper's four operations:
//   Cut          a node whose remaining load exceeds what the remaining processors can compute within the threshold;
//   Save         the best distribution of a remaining load over the remaining processors;
//   Backtrack    to above the slowest processor of a new solution: later sizes of it take no less;
//   ReadMemory   when the same remaining load is met again.
// The functions of the supplement are not printed. Reconstructed here; one rule had to change: Algorithm 2 returns from
// a cell whose saved time is not below the threshold, which loses optima when the cell is not final. Such a cell is
// resumed at its saved index instead. (A final cell is then never faster than the threshold.)
//
// Kept as published for comparison and as a reference; `hpopta` gives the same makespan. O(m^3 p^3), memory O(p n).
#pragma once

#include <cstdint>

#include "policies/planners/planner.hpp"

namespace apportion {

/// What the search did, as section 4 tells it.
struct PublishedTrace {
    struct Saved {
        int level = 0;
        Units size = 0;      ///< of the processor of that level
        int index = 0;       ///< of the size in the level's times in ascending order; -1: nothing
        double seconds = 0;  ///< of the processors from that level on
    };
    struct Solution {
        std::vector<Units> shares;
        double seconds = 0;                  ///< its makespan: the time threshold tau from here on
        std::vector<Units> size_thresholds;  ///< sigma after it, by level
        std::vector<Saved> saved;            ///< from the last level up
    };
    Solution start;                   ///< the load-equal distribution; infinite where a size of it is missing
    std::vector<Solution> solutions;  ///< in order, each faster than the one before
    std::int64_t nodes = 0;           ///< calls of the kernel
    std::int64_t cuts = 0;
    std::int64_t saves = 0;
    std::int64_t backtracks = 0;  ///< levels left early after a solution
    std::int64_t reads = 0;       ///< saved distributions used
    std::int64_t rejected = 0;    ///< final cells, none of which is faster than the threshold
    std::int64_t resumed = 0;     ///< cells continued at their saved index
};

/// `problem` must be valid.
Plan plan_hpopta_published(const PlanProblem& problem);

/// The same, and tells the course of the search.
Plan plan_hpopta_published(const PlanProblem& problem, PublishedTrace& trace);

}  // namespace apportion
