// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The runs of a file of reports one after the other on one axis of time: blocks, loads and decisions. Reports tell
// times since their own submission only, so what a program did between its loads takes no time here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/apportion/run_report.hpp"

namespace apportion {

struct TimelineBlock {
    std::size_t processor = 0;  ///< index into Timeline::processors
    std::string load;
    std::int64_t first = 0, units = 0;
    double given_s = 0, start_s = 0, end_s = 0, home_s = 0;
    bool given_back = false;  ///< others computed its units, and their result counts
};

struct TimelineRun {
    std::string load, policy;
    std::int64_t run = 0;
    double begin_s = 0, end_s = 0;
};

struct TimelineDecision {
    double at_s = 0;
    std::string reason;
    std::string shares;      ///< "CPU 0: 12, CPU 1: 8"
    double predicted_s = 0;  ///< end; negative: none
};

struct Timeline {
    std::vector<std::string> processors;
    std::vector<TimelineBlock> blocks;  ///< by their handing out
    std::vector<TimelineRun> runs;
    std::vector<TimelineDecision> decisions;
};

/// Throws UserError: a report has no blocks.
Timeline timeline_of(const std::vector<RunReport>& reports);

/// JSON of the Trace Event Format, which Perfetto and chrome://tracing open. Processors are threads, blocks are their
/// slices, the way of data to a processor and home are asynchronous slices, and decisions are instants.
std::string chrome_trace(const Timeline& timeline);

}  // namespace apportion
