// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a report of a run tells its user.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/apportion/run_report.hpp"

namespace apportion {

// Where the time of each processor went in a run of a load, from its report: every second of the makespan belongs to
// exactly one entry. Without the blocks (APPORTION_TRACE=1) waiting is not told apart.

struct ProcessorAccount {
    std::string name, kind;
    std::int64_t units = 0, blocks = 0;
    double compute_s = 0;   ///< kernels of blocks that count
    double copies_s = 0;    ///< kernels of blocks that others computed as well, and whose result counts
    double transfer_s = 0;  ///< it had a block and waited for its data
    double models_s = 0;    ///< it had none, before all processors had usable models
    double policy_s = 0;    ///< it had none, later, though it got one afterwards
    double home_s = 0;      ///< from its last kernel's end until its results were in main memory
    double end_s = 0;       ///< it was done
    double last_s = 0;      ///< when its last result was in main memory; 0: it got nothing
};

struct RunAccount {
    double makespan_s = 0;
    bool has_blocks = false;  ///< from blocks; else only computing, transfers, and `end_s` for all the rest
    std::vector<ProcessorAccount> processors;
    std::size_t binding = 0;  ///< the processor that was done last, or was busy longest
};

RunAccount account_of(const RunReport& report);

// Whether a report shows that the units of its load, or its cores, are not alike: then the best speeds that were seen
// are not those of all units, and n over their sum is no bound.

constexpr const char* kInMainMemory = "CPU";  ///< kind of the processors that compute there

/// That the best speeds are far from those of all blocks. Empty where they are not; without its full stop.
std::string unlike_units(const RunReport& report);

/// Which core took how much longer for a unit than which other, where it is more than noise of both explains. Else
/// empty. Without its full stop.
std::string unlike_cores(const RunReport& report);

/// Whether n over the sum of the best speeds is a bound: nothing is unlike, and the speeds of all processors are known.
bool has_bound(const RunReport& report);

// What a report of a run shows that its user should know, the most expensive first.
//
// A finding's cost is the part of the makespan that would go at most if its cause did: the processor seconds that it
// took, of each processor as much as its speed is of all their speeds, or, where all wait for it, its own seconds. (One
// that computed nothing is as fast as others of its kind; where there are none, what it would have added is not known.)
// Costs overlap and do not add up: a lost processor also shows at the end, where it has nothing to do.

struct Finding {
    std::string sentence;  ///< without its full stop
    double cost_s = 0;     ///< 0: not known; infinite: the run failed
};

/// Failures, lost processors, drift, spikes, links, memory, waiting, blocks that are too small or too few, poor models.
std::vector<Finding> findings(const RunReport& report, const RunAccount& account);

/// Why processor p computed nothing.
std::string why_nothing(const RunReport& report, std::size_t p);

// What `apportion explain` says about one run of a load.

/// Sentences and a table, for a terminal.
std::string explanation_text(const RunReport& report);

/// An object: load, policy, run, makespan_seconds, bound_by, processors: [{name, units, blocks, seconds: {compute,
/// copies, transfer, models, policy, home, end}, why_nothing}], facts: [{sentence, seconds}]. Seconds of a fact are
/// what it costs at most; null: not known.
nlohmann::ordered_json explanation_json(const RunReport& report);

}  // namespace apportion
