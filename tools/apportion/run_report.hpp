// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reports of runs (docs/report.md), read from files and from what programs append.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policies/policy.hpp"
#include "policies/starpu/machine.hpp"
#include "policies/starpu/profile_store.hpp"

namespace apportion {

// The report of a run (docs/report.md) as all tools read it. What is here was checked: fields that tools need are there
// and of their types, counts and times are none that no run can have, and indices lead somewhere.

struct ReportedProcessor {
    std::string name, kind;
    std::int64_t units = 0, blocks = 0;
    double compute_s = 0, transfer_wait_s = 0, return_s = 0, idle_percent = 0;
    std::optional<std::int64_t> memory_units{};  ///< nothing: no limit
    std::optional<double> model_r2{};            ///< nothing: no model, or none that tells
    std::int64_t workers = 1;                    ///< StarPU's, several in a group of cores
    double share = 0;  ///< of the units; of several loads the mean, weighted by the time that they take
};

struct ReportedBlock {
    std::size_t processor = 0;  ///< index into RunReport::processors
    std::int64_t first = 0, units = 0;
    double given_s = 0, start_s = 0, end_s = 0, home_s = 0;  ///< 0: it did not get so far
    bool given_back = false;                                 ///< others computed its units, and their result counts
};

struct ReportedDistribution {
    double at_s = 0;
    std::string reason;
    std::vector<std::optional<double>> shares{};
    std::optional<double> predicted_end_s{};
};

struct ReportedLoss {
    std::size_t processor = 0;
    std::string name, reason;
    double at_s = 0;
    std::int64_t units_given_back = 0;
};

struct ReportedLateBlock {
    std::string name;  ///< of its processor
    std::int64_t units = 0;
    double waited_s = 0;
};

/// Of `auto`.
struct RunReport {
    std::string load, policy;
    std::string profile_name;  ///< under which profiles of the load are recorded
    std::optional<std::string> learnt_file{}, learnt_problem{}, error{};
    std::string note;
    std::int64_t units = 0, granularity = 1, run = 1, blocks = 0;
    std::int64_t discarded_samples = 0, policy_stalls = 0;
    double makespan_s = 0, idle_percent = 0, probing_s = 0, planning_s = 0;
    std::optional<double> lower_bound_s{};
    std::vector<ReportedProcessor> processors;  ///< at least one
    std::vector<ReportedDistribution> distributions{};
    std::vector<ReportedLoss> losses{};
    std::vector<ReportedLateBlock> late_blocks{};
    std::string choice{};                ///< of `auto`
    std::vector<ReportedBlock> trace{};  ///< in the order in which they were handed out; empty: not reported
    /// Of a load over nodes, which are its processors then: what each did inside; without processors where that is not
    /// reported.
    std::vector<RunReport> nodes{};
};

/// `where`: file and line, for messages. Throws UserError.
RunReport run_report(const nlohmann::json& report, const std::string& where);

// Files of reports: what APPORTION_REPORT collected, one a line, or the JSON object that an application prints with
// --json; and what several runs of several loads are together.

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
    /// Stands for the load where one run has to: the one of most units, of several the last, which knows most.
    const RunReport& largest() const;
    double seconds() const;  ///< of all runs
};

/// By name and policy, in the order in which they first end.
std::vector<LoadRuns> loads_of(const std::vector<RunReport>& reports);

/// One report for a program: the sums over the largest run of every load, their blocks one load after the other, and
/// everything else from the first one.
RunReport merged_report(const std::vector<LoadRuns>& loads);

/// What `auto` chose and why, one sentence without its full stop; empty for other policies.
std::string describe_choice(const RunReport& report);

/// Which recorded profile the load of that report would look for. Processors of one model are of one kind.
ProfileRequest profile_request(const RunReport& report);

}  // namespace apportion
