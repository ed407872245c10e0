// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Equal packets on units of constant speed, earliest finish first: what the list heuristic gives that hands packets out
// one by one, each to the unit that would finish it first. Found without handing them out: the level T below which all
// but the last few finish is bisected, the last few are handed out one by one.
#pragma once

#include <span>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// Units of one group share a maximum.
struct FillUnit {
    double seconds = 0;  ///< for one packet, > 0
    Units maximum = kNoLimit;
    std::size_t group = 0;
};

/// Largest k with k * seconds <= level_s in floating point, at most `maximum`.
Units packets_within(double level_s, double seconds, Units maximum);

/// Packets per unit; sum = `packets`, which the maxima must admit. Ties go to the lower index. O((p + groups) log p).
std::vector<Units> level_fill(std::span<const FillUnit> units, std::span<const Units> group_maxima, Units packets);

}  // namespace apportion
