// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lastovetsky, Szustak, Wyrzykowski: Model-based optimization of EULAG kernel on Intel Xeon Phi through load
// imbalancing (IEEE TPDS). Sections 5.4 and 5.5, Tables 1 and 3: seconds of 40 steps by offset from equal shares, as
// predicted and as measured.
#pragma once

#include <array>

namespace published::mpdata {

inline constexpr int kTeams = 4;
inline constexpr int kGranularity = 4;

struct Offset {
    int frames;      // one team has so many more than an equal share, its neighbour so many fewer
    double seconds;  // of the slower of the two
};

// As measured, of whole runs: Table 1 and Table 3.
inline constexpr std::array<Offset, 9> kMeasured240 = {
    {{0, 1.548}, {4, 1.470}, {6, 1.374}, {7, 1.361}, {8, 1.364}, {9, 1.348}, {10, 1.352}, {11, 1.372}, {12, 1.368}}};
inline constexpr std::array<Offset, 7> kMeasured480 = {
    {{0, 6.140}, {4, 5.681}, {8, 5.806}, {12, 5.453}, {16, 5.418}, {20, 5.338}, {24, 5.477}}};

// 240 x 240 x 128 cells: equal shares are 120 frames. Offsets that are multiples of the granularity, and others.
inline constexpr int kBalanced240 = 120;
inline constexpr std::array<Offset, 4> kOffsets240 = {{{0, 1.486}, {4, 1.470}, {8, 1.386}, {12, 1.402}}};
inline constexpr std::array<Offset, 5> kOddOffsets240 = {
    {{6, 1.401}, {7, 1.422}, {9, 1.398}, {10, 1.397}, {11, 1.429}}};

// Speed that section 5.4 prints [cells/s], for 120 x 112 x 128 cells.
inline constexpr double kSpeedOf112 = 1436742;

// 480 x 480 x 128 cells: equal shares are 240 frames.
inline constexpr int kBalanced480 = 240;

}  // namespace published::mpdata
