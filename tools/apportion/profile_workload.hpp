// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A bundled application on this machine's StarPU workers as a subject of `apportion profile`: what is timed is the
// kernel of a block, as StarPU times it. Runs StarPU from its construction to its destruction, under a scheduler that
// decides nothing, because every block goes to a chosen worker.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/apportion/profile_subject.hpp"

namespace apportion {

/// The application of that name with a problem of that size on StarPU's workers with these numbers (all that can run
/// it where none are given). Throws UserError: no such application or worker, StarPU does not start, no memory.
std::unique_ptr<ProfileSubject> workload_subject(const std::string& app, const std::vector<std::int64_t>& size,
                                                 const std::vector<unsigned>& processors);

/// The same of problems of x by x, as HPOPTA's paper profiles its processors: a share of x units is all of a problem of
/// size x, of which each processor has its own. `size`: the first that will be run.
std::unique_ptr<ProfileSubject> square_subject(const std::string& app, Units size,
                                               const std::vector<unsigned>& processors);

/// "matmul, ...": the bundled applications.
std::string workload_names();

}  // namespace apportion
