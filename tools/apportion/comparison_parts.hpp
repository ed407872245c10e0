// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What `apportion compare` is made of.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/apportion/comparison.hpp"
#include "tools/apportion/program_runner.hpp"

namespace apportion {

// The profile that the static policies of a comparison plan from: the recorded one, or, where there is none, one that
// is made for the comparison and removed with the runner. Making it is no part of any makespan.

/// Does nothing unless one of the plan's policies needs a profile. Otherwise runs the program once, to learn the names
/// of its loads and their processors. A bundled application of a --size gets the platform's true times, on this machine
/// those of the default sizes, measured quickly; other programs, and applications with options for which these times do
/// not hold, get what some runs learn. Standard error tells so. Where a launcher starts nodes none is made, and those
/// on this machine need theirs. Without a profile, policies that need one are a UserError if the user chose them;
/// others are taken out of the plan, and what is returned says so. Throws UserError, and what a run throws.
std::vector<std::string> prepare_profile(ProgramRunner& runner, ComparisonPlan& plan, bool chosen_by_user);

// The runs of a comparison, round by round. The first round runs every policy as it comes, which tells how many blocks
// the others are to be tried with, and then those. Later rounds run all configurations that the order still depends on,
// in an order drawn by chance: what disturbs the machine for a while meets all of them alike.

/// Fills configurations, rounds, ending, signal and seconds. Throws what a run throws.
void run_rounds(const ProgramRunner& runner, Comparison& comparison);

// A comparison for people and for programs.

/// "matmul, 65536 x 65536 x 65536, on simulated platform plbhec-abcd"
std::string comparison_title(const Comparison& comparison);

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

// A picture of a comparison: a line for each policy with its makespan as a bar and its shares beside it, and the blocks
// of one or all of them over time.

/// As PNG, SVG or PDF by the suffix. `timeline`: the policy whose blocks are drawn, "all", or empty for the best one.
/// Every run must have its blocks (a trace). Throws std::runtime_error.
void plot_comparison(const Comparison& comparison, const std::string& file, const std::string& timeline);

}  // namespace apportion
