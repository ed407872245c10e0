// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `mpdata --rectangles`: teams of cores in two dimensions, as in the paper on load imbalancing (section 5.4, Fig. 8).
// Each computes rectangles of the domain's columns in every time step, as `apportion plan --matrix N --json` arranged
// them: the distribution is given, so that no policy has a part in the run, and every rectangle is a plain task on its
// worker. A matrix's column is a plane of the field.
#pragma once

#include <memory>
#include <string>

#include "apps/app.hpp"
#include "codelets/mpdata/mpdata.hpp"

namespace apportion {

/// Advances the field by options.repeat time steps in the rectangles of the file, each by all workers together; the
/// last is verified. StarPU must run. Throws UserError.
Outcome run_rectangles(const std::shared_ptr<MpdataField>& field, const std::string& file, const AppOptions& options);

}  // namespace apportion
