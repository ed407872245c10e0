// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Processors of reports as tables and pictures name them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/apportion/run_report.hpp"

namespace apportion {

/// Processors under short names.
struct ProcessorGroup {
    std::string name;
    std::vector<std::string> processors;  ///< their names in reports
    std::vector<std::string> beside{};    ///< all processors of those reports
};

std::vector<std::string> processor_names(const RunReport& report);

/// Of all reports, those of the first one first. More than two cores that have about the same units in each report are
/// one: "9 CPU cores".
std::vector<ProcessorGroup> processor_groups(const std::vector<const RunReport*>& reports);

/// The group's part of the report's units in percent; nothing if the report is of other processors.
std::optional<double> share_percent(const RunReport& report, const ProcessorGroup& group);

}  // namespace apportion
