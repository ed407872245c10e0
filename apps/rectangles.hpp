// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Rectangles of a matrix, or of a domain whose columns are planes, as `apportion plan --matrix N --json` arranged them
// for each processor: a StarPU worker, or a team of cores ("CPU 0-14"), among which a rectangle is divided equally, in
// columns.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "codelets/common/codelet.hpp"

namespace apportion {

struct Rectangles {
    std::size_t side = 0;  ///< of the planned matrix, in blocks
    PartsOfWorkers of_workers;
};

/// The rectangles of the file in a matrix of that size; StarPU must run. Throws UserError.
Rectangles read_rectangles(const std::string& file, std::size_t rows, std::size_t columns);

/// For run_on_workers(): one for each worker with rectangles.
std::vector<std::uint64_t> units_of_rectangles(const PartsOfWorkers& of_workers);

/// What the workers did in so many seconds.
nlohmann::ordered_json report_of_rectangles(const PartsOfWorkers& of_workers, std::span<const double> busy_s,
                                            double seconds);

}  // namespace apportion
