// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What `apportion explain` says about one run of a load.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/apportion/run_report.hpp"

namespace apportion {

/// Sentences and a table, for a terminal.
std::string explanation_text(const RunReport& report);

/// The sentences alone.
std::vector<std::string> explanation_sentences(const RunReport& report);

/// An object: load, policy, run, makespan_seconds, bound_by, processors: [{name, units, blocks, seconds: {compute,
/// copies, transfer, models, policy, home, end}, why_nothing}], facts: [{sentence, seconds}], predicted_seconds:
/// {policy: seconds}. Seconds of a fact are what it costs at most; null: not known.
nlohmann::ordered_json explanation_json(const RunReport& report);

}  // namespace apportion
