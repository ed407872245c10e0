// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A picture of a comparison: a line for each policy with its makespan as a bar and its shares beside it, and the blocks
// of one or all of them over time.
#pragma once

#include <string>

#include "tools/apportion/comparison.hpp"

namespace apportion {

/// As PNG, SVG or PDF by the suffix. `timeline`: the policy whose blocks are drawn, "all", or empty for the best one.
/// Every run must have its blocks (a trace). Throws std::runtime_error.
void plot_comparison(const Comparison& comparison, const std::string& file, const std::string& timeline);

}  // namespace apportion
