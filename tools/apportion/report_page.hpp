// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A page for browsers, in one file: what reports of runs and JSON of comparisons say, as tables and charts that can be
// zoomed. It loads nothing else. page/ has what it is made of; charts are Chart.js's.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/apportion/run_report.hpp"

namespace apportion {

/// Whether it is what `apportion compare --json` printed.
bool is_comparison(const nlohmann::json& value);

/// What the page shows of a comparison, and of a program's reports. `source` names the file. Throw UserError: something
/// is missing, or of another type.
nlohmann::ordered_json comparison_data(const nlohmann::json& comparison, const std::string& source);
nlohmann::ordered_json program_data(const std::vector<RunReport>& reports, const std::string& source);

/// `data`: {comparisons: [...], programs: [...]}.
std::string html_page(const nlohmann::ordered_json& data, const std::string& title);

}  // namespace apportion
