// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures by gnuplot.
#pragma once

#include <string>

namespace apportion {

/// Throws UserError when gnuplot is missing or the picture cannot be written there: to be called before long work.
void check_plot(const std::string& file);

/// Lets gnuplot draw `script` as PNG of that size in pixels into the file, which appears only when it is whole. The
/// script sets neither terminal nor output. Throws UserError.
void draw(const std::string& file, int width, int height, const std::string& script);

/// The text in double quotes, as a string of gnuplot.
std::string gnuplot_text(const std::string& text);

}  // namespace apportion
