// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A picture of the models over the measured data: speed over size, one panel per processor, drawn by gnuplot.
#pragma once

#include <string>

#include "models/profile_file.hpp"

namespace apportion {

/// Writes a PNG file. Throws UserError.
void plot_models(const Profile& profile, const std::string& path);

}  // namespace apportion
