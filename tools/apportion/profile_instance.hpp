// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion profile --instance`: this machine, or those of mpirun, as an instance of the data assignment problem,
// profiled as in section 4.3 of Boinski and Czarnul. A link's start-up a is the time of a message of one byte, and its
// bandwidth b comes from messages of 0.5 to 32 MiB, all one way, which is half of there and back. The paper's equation
// 4 takes the mean of (S1 - S2) / (T1 - T2) over neighbouring sizes; here it is the median over all pairs of sizes
// (Theil and Sen), and each size's time a median, so that a disturbed message or size changes nothing. What a unit
// costs a processor is the measured time nearest an equal share.
//
// Of one machine, main memory is a node without transfers, and every device memory a node with its link. Of several,
// every machine is a node with its link to rank 0's, which has the data, and what a unit takes on its bus is in the
// cost of a device, as in the paper.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/samples.hpp"
#include "tools/apportion/profile_subject.hpp"

namespace apportion {

struct LinkTimes {
    double startup_s = 0;
    double bytes_per_s = 0;
};

inline constexpr std::size_t kLargestMessage_bytes = std::size_t{32} << 20;

/// `one_way_s`: measures a message of so many bytes once; nothing is measured any more when `stop()`. Throws UserError
/// where larger ones take no longer.
LinkTimes measure_link(const std::function<double(std::size_t bytes)>& one_way_s, const SampleOptions& options,
                       const std::function<bool()>& stop);

/// Before long work: throws UserError where the subject's data are not known, FileError where the file cannot be
/// written. `path` may be empty: another rank writes it.
void check_instance(const std::string& path, ProfileSubject& subject);

/// This machine's instance, JSON, of a subject that check_instance() took; measures the links to devices. `times`: per
/// processor seconds of the sizes that were measured; `share`: units that a processor may have. Throws UserError.
std::string machine_instance(ProfileSubject& subject, const std::vector<std::map<Units, double>>& times, Units share,
                             const SampleOptions& options, const std::function<bool()>& stop);

/// Those of several machines as one, of which the first has the data; all of the same load. `names`: of the machines;
/// `links`: from the first to each.
std::string cluster_instance(std::span<const std::string> machines, std::span<const std::string> names,
                             std::span<const LinkTimes> links);

/// Returns what to tell the user, lines. Throws FileError.
std::string save_instance(const std::string& path, const std::string& instance);

}  // namespace apportion
