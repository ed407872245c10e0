// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The environment variables that Apportion reads: the one place that knows their names, meanings, allowed values and
// defaults. Getters give the default for a malformed value; programs call check_environment() first and stop.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

constexpr Units kMostEqualBlocks = Units{1} << 22;  ///< 4194304: of one load under StarPU's schedulers

struct EnvironmentVariable {
    const char* name;
    const char* meaning;
    const char* allowed;
    const char* default_value;
    std::string (*check)(const std::string& value);  ///< empty, or what is wrong with the value
};

/// All of them; docs/environment.md has the same, which a test checks.
std::span<const EnvironmentVariable> environment_variables();

/// One sentence for the first malformed value or the first unknown APPORTION_* name, or nothing.
std::optional<std::string> check_environment();

std::optional<std::string> nodes_option();  ///< the outer policy
std::optional<Units> initial_block_option();
std::optional<Units> blocks_option();
std::vector<Units> groups_option();    ///< cores of the groups, the last number repeated; empty: no groups
std::optional<Units> offset_option();  ///< of imbalance
bool offset_as_published();            ///< tried as in the paper
bool serial_network_option();          ///< of ilp and min-min
std::string profiles_option();         ///< empty: the user's folder
std::string report_file_option();      ///< empty: none
bool learn_option();                   ///< what runs learn is kept, and used
bool trace_option();
bool charge_planning_option();
double stall_factor_option();        ///< 0: never
std::string platform_file_option();  ///< empty: none

}  // namespace apportion
