// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A picture of the models over the measured data: speed over size, one panel per processor, drawn by gnuplot, with the
// shares of plans.
#pragma once

#include <span>
#include <string>

#include "models/profile_file.hpp"
#include "policies/planners/planner.hpp"

namespace apportion {

/// Writes a PNG, SVG or PDF file of speeds, in which x units are x^work_power of work. Of plans without solution
/// nothing is drawn. Throws UserError.
void plot_models(const Profile& profile, std::span<const Plan> plans, double work_power, const std::string& path);

}  // namespace apportion
