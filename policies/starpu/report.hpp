// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The record of one run of a load, and its JSON report. Times in seconds since the run began.
#pragma once

#include <string>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

struct BlockRecord {
    int processor = -1;  ///< index in RunRecord::processors
    Units first = 0;
    Units units = 0;
    double given_s = 0;
    double start_s = 0;
    double end_s = 0;
    double busy_s = 0;
    double home_s = 0;              ///< results are in main memory (end_s when they were there anyway)
    bool given_back = false;        ///< does not count: its units are those of other blocks
    bool data_there = false;        ///< some at least, since an earlier run
    bool given_up_waiting = false;  ///< given back while it waited behind a task that computed for nobody
};

/// A block that took so long that others were given its units, too.
struct LateBlock {
    std::size_t block = 0;  ///< index in RunRecord::blocks
    double at_s = 0;
    double waited_s = 0;  ///< since it could have begun; 0: it waits behind such a block
};

/// A processor that got no more blocks from some moment on.
struct LostProcessor {
    int processor = 0;  ///< index in RunRecord::processors
    double at_s = 0;
    std::string reason;
};

struct ProcessorRecord {
    std::string name;
    std::string kind;
    int worker = 0;  ///< StarPU's, the first of a group of cores
    Units memory_units = kNoLimit;
    std::size_t workers = 1;  ///< in the group
};

/// What the load knew from earlier processes.
struct LearntRecord {
    std::string file;     ///< where it is kept; empty: it is not
    int processes = 0;    ///< that it is from; 0: nothing was known
    std::string problem;  ///< why not, or empty
};

struct RunRecord {
    std::string load;
    std::string policy;
    std::string profile;  ///< name under which profiles of the load are recorded
    LearntRecord learnt;
    Units units = 0;
    Units granularity = 1;
    int run = 0;  ///< 1 for the first submission
    double makespan_s = 0;
    std::vector<ProcessorRecord> processors;
    std::vector<BlockRecord> blocks;  ///< in the order they were handed out
    std::vector<LostProcessor> lost;
    std::vector<LateBlock> late;
    double planning_s = 0;  ///< what all decisions on blocks took, under the run's lock
    int policy_stalls = 0;
    std::string note;  ///< what is to be known of the run itself
    std::string error;
};

/// The report as one JSON object (one line). With `trace` it lists every block.
std::string report_json(const RunRecord& run, const PolicyReport& policy, bool trace);

// The file that APPORTION_REPORT names: one line per run of a load, by any number of programs at the same time.

/// Throws ApiError when the file cannot be appended to, before a long run rather than after it. Creates none.
void check_report_file(const std::string& path);

/// Appends a line, at once. Throws ApiError when it cannot.
void append_report(const std::string& path, const std::string& json);

}  // namespace apportion
