// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What ranks tell each other before a load over nodes is made: who they are, and that they make the same load.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policies/mpi/world.hpp"
#include "policies/policy.hpp"
#include "policies/starpu/apportion.h"
#include "policies/starpu/report.hpp"

namespace apportion {

struct NodeFacts {
    std::string called;                   ///< the load, in sentences
    const PolicyEntry* policy = nullptr;  ///< the outer one, of rank 0; all ranks know the same
    LoadDescription load;                 ///< as the outer policy sees it: its processors are the nodes
    std::int64_t workers = 0;             ///< of all nodes
};

/// The options as the program's header has them, checked and completed (checked_options). `problem`: why no load over
/// nodes can be made of them by this function, or empty.
apportion_load_options options_for_nodes(const char* function, const apportion_load_options* given,
                                         std::string& problem);

/// The load's name: that of the options, or of their codelet.
std::string load_name(const apportion_load_options& options);

/// Collective. Throws ApiError, the same on all ranks, when one of them has a `problem`, or when `options` or what is
/// said of the `arrays` are not the same on all.
NodeFacts gather_facts(const World& world, const apportion_load_options& options, const nlohmann::json& arrays,
                       const std::string& problem);

/// What is reported of a run over nodes, before its blocks.
RunRecord record_of_nodes(const std::string& name, const std::string& policy, const LoadDescription& description,
                          int run, double seconds, const std::string& error);

/// The report of a run over nodes, `report`, with what nodes report themselves.
std::string with_nodes(nlohmann::ordered_json report, const std::vector<std::string>& nodes);

}  // namespace apportion
