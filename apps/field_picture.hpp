// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A picture of a field, drawn by gnuplot.
#pragma once

#include <string>

#include "codelets/mpdata.hpp"

namespace apportion {

/// Throws UsageError when gnuplot is missing or the file cannot be written there: to be called before long work.
void check_picture(const std::string& file);

/// Draws the largest value along x over y and z as a PNG file, which appears only when it is whole. Throws UsageError.
void draw_field(const std::string& file, const MpdataField& field);

}  // namespace apportion
