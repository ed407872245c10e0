// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Files of reports: what APPORTION_REPORT collected, one a line, or the JSON object that an application prints with
// --json; and what several runs of several loads are together.
#pragma once

#include <string>
#include <vector>

#include "tools/apportion/run_report.hpp"

namespace apportion {

/// All reports of the text, in order. `source` names the text in messages. Throws UserError with the line of what is no
/// report.
std::vector<RunReport> parse_reports(const std::string& text, const std::string& source);

/// Of a regular file, or of standard input when it is "-"; at least one. Throws UserError.
std::vector<RunReport> read_reports(const std::string& file);

/// One load under one policy: all its runs.
struct LoadRuns {
    std::string name;
    std::vector<const RunReport*> reports;  ///< at least one, in order

    const RunReport& last() const { return *reports.back(); }
    double seconds() const;  ///< of all runs
};

/// By name and policy, in the order in which they first end.
std::vector<LoadRuns> loads_of(const std::vector<RunReport>& reports);

/// One report for a program: the sums over the last run of every load, their blocks one load after the other, and
/// everything else from the first one.
RunReport merged_report(const std::vector<LoadRuns>& loads);

/// What `auto` chose and why, one sentence without its full stop; empty for other policies.
std::string describe_choice(const RunReport& report);

}  // namespace apportion
