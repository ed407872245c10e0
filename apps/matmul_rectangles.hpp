// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `matmul --rectangles`: C in one or several rectangles for each processor, as `apportion plan --matrix N --json`
// arranged them (FuPerMod's column-based partition, SummaGen's shapes). The distribution is given, so that no policy
// has a part in the run: a rectangle is a plain task on its worker, which reads its rows of A and columns of B only.
// The rectangles of a worker are cut at each other's edges first: so it reads a row or column once, whatever its part's
// shape.
#pragma once

#include <memory>

#include "apps/app.hpp"
#include "codelets/matmul/matmul.hpp"

namespace apportion {

/// Runs the rectangles options.repeat times; the report tells what processors read of A and B, and what they would of
/// whole columns of C of the same areas.
Outcome run_rectangles(const std::shared_ptr<MatmulProblem>& problem, PartsOfWorkers of_workers,
                       const AppOptions& options);

}  // namespace apportion
