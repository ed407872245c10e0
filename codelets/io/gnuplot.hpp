// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures by gnuplot. Whatever comes from a file or from the user goes into a script through gnuplot_text() only:
// gnuplot executes what stands in backquotes, and file names that begin with '|' or '<'.
#pragma once

#include <string>

#include "models/io/user_error.hpp"

namespace apportion {

/// Throws UserError when gnuplot is missing or the picture cannot be written there: to be called before long work.
void check_plot(const std::string& file);

/// Lets gnuplot draw `script` in that size in pixels into the file, as PNG, SVG or PDF by the suffix of its name. The
/// file appears only when it is whole. The script sets neither terminal nor output and names no file. Throws
/// std::runtime_error.
void draw(const std::string& file, int width, int height, const std::string& script);

/// The text as a string of gnuplot that shows it, see shown(); '\n' begins a new line. Nothing in it is executed.
std::string gnuplot_text(const std::string& text);

}  // namespace apportion
