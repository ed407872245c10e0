// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What `apportion explain` says about one run of a load.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace apportion {

/// Sentences and a table, for a terminal. `report` has the fields that parse_reports() asks for.
std::string explanation_text(const nlohmann::json& report);

/// The sentences alone.
std::vector<std::string> explanation_sentences(const nlohmann::json& report);

/// An object: load, policy, run, makespan_seconds, bound_by, processors: [{name, units, blocks, seconds: {compute,
/// copies, transfer, models, policy, home, end}, why_nothing}], facts: [sentence], predicted_seconds: {policy:
/// seconds}.
nlohmann::ordered_json explanation_json(const nlohmann::json& report);

}  // namespace apportion
