// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reports of runs (docs/report.md) as the tools read them: what APPORTION_REPORT collected, one a line, or the JSON
// object that an application prints with --json.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace apportion {

/// All reports of the text, in order, each with the fields that tools need, of the right types. `source` names the text
/// in messages. Throws UserError with the line of what is no report.
std::vector<nlohmann::json> parse_reports(const std::string& text, const std::string& source);

/// Of a regular file, or of standard input when it is "-". Throws UserError.
std::vector<nlohmann::json> read_reports(const std::string& file);

/// One load of a program: all its runs.
struct LoadRuns {
    std::string name;
    std::vector<const nlohmann::json*> reports;  ///< at least one, in order

    const nlohmann::json& last() const { return *reports.back(); }
    double seconds() const;  ///< of all runs
};

/// The loads by name, in the order in which they first end.
std::vector<LoadRuns> loads_of(const std::vector<nlohmann::json>& reports);

/// One report for a program: the sums over the last run of every load, their blocks one load after the other, and
/// everything else from the first one.
nlohmann::json merged_report(const std::vector<LoadRuns>& loads);

/// What `auto` chose and why, one sentence without its full stop; empty for other policies.
std::string describe_choice(const nlohmann::json& report);

}  // namespace apportion
