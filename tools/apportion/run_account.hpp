// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where the time of each processor went in a run of a load, from its report: every second of the makespan belongs to
// exactly one entry. Without the blocks (APPORTION_TRACE=1) waiting is not told apart.
#pragma once

#include <string>
#include <vector>

#include "tools/apportion/run_report.hpp"

namespace apportion {

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

    double waiting_s() const { return transfer_s + models_s + policy_s; }
};

struct RunAccount {
    double makespan_s = 0;
    bool has_blocks = false;  ///< from blocks; else only computing, transfers, and `end_s` for all the rest
    std::vector<ProcessorAccount> processors;
    std::size_t binding = 0;  ///< the processor that was done last, or was busy longest
};

RunAccount account_of(const RunReport& report);

}  // namespace apportion
