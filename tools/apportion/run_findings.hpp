// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a report of a run shows that its user should know, the most expensive first.
//
// A finding's cost is the part of the makespan that would go at most if its cause did: the processor seconds that it
// took, spread over all processors, or, where all wait for it, its own seconds. Costs overlap and do not add up: a
// lost processor also shows at the end, where it has nothing to do.
#pragma once

#include <string>
#include <vector>

#include "tools/apportion/run_account.hpp"

namespace apportion {

struct Finding {
    std::string sentence;  ///< without its full stop
    double cost_s = 0;     ///< 0: not known; infinite: the run failed
};

/// Failures, lost processors, drift, spikes, links, memory, waiting, blocks that are too small or too few, poor models.
std::vector<Finding> findings(const RunReport& report, const RunAccount& account);

/// Why processor p computed nothing.
std::string why_nothing(const RunReport& report, std::size_t p);

}  // namespace apportion
