// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `matmul --rectangles`: C in one rectangle for each processor, as `apportion plan --matrix N --json` arranged them
// (FuPerMod's column-based partition). The distribution is given, so that no policy has a part in the run: every
// rectangle is a plain task on its worker, which reads its rows of A and columns of B only.
#pragma once

#include <memory>
#include <vector>

#include "apps/app.hpp"
#include "codelets/matmul/matmul.hpp"

namespace apportion {

/// Runs the rectangles options.repeat times; the report tells what processors read of A and B, and what they would of
/// columns of the same areas.
Outcome run_rectangles(const std::shared_ptr<MatmulProblem>& problem, const std::vector<MatrixPart>& of_workers,
                       const AppOptions& options);

}  // namespace apportion
