// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether a report shows that the units of its load, or its cores, are not alike: then the best speeds that were seen
// are not those of all units, and n over their sum is no bound.
#pragma once

#include <string>

#include "tools/apportion/run_report.hpp"

namespace apportion {

constexpr double kUnlike = 1.5;               ///< ratio of times that noise does not explain, as in learnt_times.cpp
constexpr const char* kInMainMemory = "CPU";  ///< kind of the processors that compute there

/// That on every processor with some of both halves of the load one half took longer, or that the best speeds are far
/// from those of all blocks. Empty where there is no such sign; without its full stop.
std::string unlike_units(const RunReport& report);

/// Which core took how much longer for a unit than which other, where it is more than noise of both explains: units
/// cannot be alike then, or cores not. Else empty. Without its full stop.
std::string unlike_cores(const RunReport& report);

/// By the halves of the load on each processor; where none has blocks of both, by the cores.
bool units_seem_alike(const RunReport& report);

/// Whether n over the sum of the best speeds is a bound: units seem alike, and the best speeds are near the mean ones.
bool has_bound(const RunReport& report);

}  // namespace apportion
