// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a report of a run shows that its user should know: sentences, in the order in which they are to be looked at.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/apportion/run_account.hpp"

namespace apportion {

/// Facts that cost time: lost processors, drift, spikes, links, blocks that are too small or too large, poor models.
std::vector<std::string> suspicious_facts(const nlohmann::json& report, const RunAccount& account);

/// Why processor p computed nothing.
std::string why_nothing(const nlohmann::json& report, std::size_t p);

}  // namespace apportion
