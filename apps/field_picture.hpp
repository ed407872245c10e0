// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A picture of a field, drawn by gnuplot.
#pragma once

#include <string>

#include "codelets/mpdata/mpdata.hpp"

namespace apportion {

/// Draws the largest value along x over y and z, after so many steps, as a PNG, SVG or PDF file, which appears only
/// when it is whole. Throws std::runtime_error.
void draw_field(const std::string& file, const MpdataField& field, int steps);

}  // namespace apportion
