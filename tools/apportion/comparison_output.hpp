// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A comparison for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/apportion/comparison.hpp"

namespace apportion {

/// "matmul, 65536 x 65536 x 65536, on simulated platform plbhec-abcd"
std::string comparison_title(const Comparison& comparison);

/// One line a policy and choice of blocks, with the ratio to the lower bound, and the shares of the processors.
std::string comparison_table(const Comparison& comparison);

/// app, size, platform, lower_bound_seconds, runs: [{policy, blocks, makespan_seconds, idle_percent,
/// units_per_processor, choice, asked_blocks}], the last where a number was asked for, of each load that the
/// application submits; every policy has a run with choice "default", or "only" where it sizes its blocks itself, and
/// one with choice "best" after a sweep, whose other runs follow as "sweep".
nlohmann::ordered_json comparison_json(const Comparison& comparison);

/// "CUDA 1.0 (GTX 680 1.9 GiB)" -> "GTX 680", "CPU 3" -> "CPU 3".
std::string short_processor_name(const std::string& name);

/// Processors under short names, where equal cores are one: "9 x CPU"; each with its units.
struct ProcessorGroup {
    std::string name;
    std::vector<std::size_t> processors;  ///< indices into the report's list
};
std::vector<ProcessorGroup> processor_groups(const nlohmann::json& report);

}  // namespace apportion
