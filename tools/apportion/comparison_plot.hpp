// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The picture of a comparison, three panels: makespans against the lower bound, shares of the processors, and the
// blocks of one policy over time (a Gantt chart; it needs runs with APPORTION_TRACE=1).
#pragma once

#include <string>

#include "tools/apportion/comparison.hpp"

namespace apportion {

/// Draws it as PNG. Throws UserError.
void plot_comparison(const Comparison& comparison, const std::string& file);

}  // namespace apportion
