// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion profile --instance`: this machine as an instance of the data assignment problem, profiled as in
// section 4.3 of Boinski and Czarnul. Main memory is a node without transfers; every device memory is a node whose
// start-up a and bandwidth b are those of its link: a is the time of a message of one byte, b the mean over
// neighbouring sizes from 0.5 to 32 MiB of (S1 - S2) / (T1 - T2), their equation 4, both of one way, which is half of
// there and back. What a unit costs a processor is the measured time nearest an equal share, kernels only: what the
// paper has in the costs of units for their buses is in the nodes' here, because StarPU has nothing between main memory
// and a device's.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/samples.hpp"
#include "tools/apportion/profile_subject.hpp"

namespace apportion {

struct LinkTimes {
    double startup_s = 0;
    double bytes_per_s = 0;
};

/// `one_way_s`: measures a message of so many bytes once. Throws UserError where larger ones take no longer.
LinkTimes measure_link(const std::function<double(std::size_t bytes)>& one_way_s, const SampleOptions& options);

/// Before long work: throws UserError where the subject's data are not known, FileError where the file cannot be
/// written.
void check_instance(const std::string& path, ProfileSubject& subject);

/// Measures the links and writes the instance; `times`: per processor seconds of the sizes that were measured; `units`:
/// of the whole problem. Returns what to tell the user, lines. `subject` and `path` are those of check_instance().
/// Throws UserError, FileError.
std::string write_instance(const std::string& path, ProfileSubject& subject,
                           const std::vector<std::map<Units, double>>& times, Units units,
                           const SampleOptions& options);

}  // namespace apportion
