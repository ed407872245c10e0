// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Khaleghzadeh, Reddy, Lastovetsky: A novel data-partitioning algorithm for performance optimization of data-parallel
// applications on heterogeneous HPC platforms (HPOPTA). Section 4: the worked example, Fig. 5 and Figs. 9, 11, 12.
// Two slips of the text: edge (9, 1) of P1 must read (9, 3), as in Fig. 5; tau is 3, not 2, when Fig. 12 begins.
#pragma once

#include <array>
#include <vector>

namespace published::hpopta {

inline constexpr int kUnits = 16;

// Times of sizes 1 to 16 on the four processors.
inline constexpr std::array<std::array<int, 16>, 4> kTimes = {{
    {6, 13, 2, 12, 14, 14, 13, 1, 3, 4, 20, 2, 11, 5, 3, 10},
    {12, 10, 7, 6, 4, 4, 8, 1, 3, 16, 13, 13, 16, 18, 20, 17},
    {1, 7, 4, 4, 8, 9, 1, 14, 13, 14, 19, 15, 18, 18, 16, 19},
    {6, 3, 4, 4, 3, 2, 7, 9, 13, 14, 13, 16, 19, 17, 15, 20},
}};

struct Solution {
    std::vector<int> distribution;
    int seconds;
    std::vector<int> size_thresholds;
};

inline const Solution kLoadEqual = {{4, 4, 4, 4}, 12, {40, 24, 15, 8}};
inline const Solution kFigure9 = {{0, 8, 3, 5}, 4, {37, 22, 13, 6}};
inline const Solution kFigure11 = {{0, 9, 1, 6}, 3, {33, 21, 13, 6}};
inline const Solution kOptimum = {{8, 8, 0, 0}, 1, {0, 0, 0, 0}};

// What is saved with two of them, by level: size, index in ascending order of time, time from that level on.
struct Saved {
    int level, size, index, seconds;
};
inline constexpr std::array<Saved, 2> kSavedAtFigure9 = {{{2, 3, 2, 4}, {1, 8, 0, 4}}};
inline constexpr std::array<Saved, 2> kSavedAtFigure11 = {{{2, 1, 0, 2}, {1, 9, 1, 3}}};

}  // namespace published::hpopta
