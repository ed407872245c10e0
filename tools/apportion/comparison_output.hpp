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

/// "lower bound", exact or measured, in words; empty where there is none.
std::string bound_text(const Comparison& comparison);

/// Shares are those of the work then: of each load's units, weighted by the load's seconds.
bool has_several_loads(const Comparison& comparison);

/// Policies from the best to the worst, by rank and median.
std::vector<std::string> ranked_policies(const Comparison& comparison, const Order& order);

/// One line a policy and choice of blocks, with rank, median, interval and the ratio to the lower bound; the seconds of
/// each load where there are several; the shares of the processors; and what there is to say about it.
std::string comparison_table(const Comparison& comparison);

/// Documented in docs/comparison.md.
nlohmann::ordered_json comparison_json(const Comparison& comparison);

/// Sentences: which policy is best and by how much, what cannot be told apart, why the runs ended, what disturbed them.
std::vector<std::string> conclusions(const Comparison& comparison);

}  // namespace apportion
