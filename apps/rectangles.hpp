// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Rectangles of a matrix, or of a domain whose columns are planes, as `apportion plan --matrix N --json` arranged them
// for each processor: a StarPU worker, or a team of cores ("CPU 0-14"), among which a rectangle is divided equally, in
// columns. The distribution is given, so that no policy has a part in the run: a rectangle is a plain task on its
// worker.
#pragma once

#include <functional>
#include <string>

#include "apps/app.hpp"

namespace apportion {

struct Rectangles {
    std::size_t side = 0;  ///< of the planned matrix, in blocks
    PartsOfWorkers of_workers;
};

/// The rectangles of the file in a matrix of that size; StarPU must run. Throws UserError.
Rectangles read_rectangles(const std::string& file, std::size_t rows, std::size_t columns);

/// Runs the workload of these parts `runs` times, all workers together, and calls after(run, outcome) after each, from
/// 1 on.
Outcome run_rectangles(Workload& workload, const PartsOfWorkers& of_workers, int runs,
                       const std::function<void(int run, Outcome& outcome)>& after);

}  // namespace apportion
