// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What `apportion compare` measures and concludes. A configuration is a policy with a number of blocks. Policies that
// are given the size of their blocks (StarPU's schedulers, and greedy) are tried with several, and their best
// configuration stands for them. All configurations take part in rounds (order.hpp), until the order of the policies is
// settled, the rounds or the time are used up, or a signal ends them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tools/apportion/order.hpp"
#include "tools/apportion/program_runner.hpp"

namespace apportion {

enum class Choice {
    only,          ///< the policy decides on its blocks itself
    default_size,  ///< the number of blocks where none is asked for
    sweep,         ///< one of the numbers that were tried
};

struct Configuration {
    std::string policy;
    Choice choice = Choice::only;
    std::optional<std::int64_t> asked_blocks{};
    std::vector<RunResult> runs{};  ///< by rounds
    bool dropped = false;           ///< clearly slower than another configuration of the policy

    std::vector<double> seconds() const;
    SecondsByRound by_pass() const;
    double median_s() const { return median(seconds()); }
    double min_s() const;
    double max_s() const;
    bool ends() const { return median_s() < simulated::kNever_s; }  ///< or a lost device has kept a block
    std::vector<const RunResult*> middle_runs() const;  ///< the one whose makespan is the median, or the two around it
    const RunResult& median_run() const { return *middle_runs().front(); }
    std::int64_t blocks() const { return median_run().report.blocks; }
    double idle_percent() const { return median_run().report.idle_percent; }
};

struct ComparisonPlan {
    std::vector<std::string> policies;
    std::vector<std::int64_t> blocks;  ///< to try; empty: powers of two, as the processors and their memories admit
    bool sweep = true;
    int rounds = 1;                                            ///< at most
    bool all_rounds = false;                                   ///< also where the order is settled before
    bool exact = false;                                        ///< every round would give the same times
    double limit_s = std::numeric_limits<double>::infinity();  ///< no round is begun that would end later
    std::uint64_t seed = 1;                                    ///< of the order within a round
    int jobs = 1;                                              ///< runs at the same time
};

enum class Ending { settled, rounds, time, signal };

struct Comparison {
    std::string program;
    std::vector<std::string> command;           ///< as it was given
    std::string platform;                       ///< empty: this machine
    std::vector<std::string> platform_events;   ///< "GTX Titan: lost at 25 s", for devices that do not stay the same
    std::string asked_size;                     ///< empty: none was given
    std::vector<std::int64_t> size;             ///< as a bundled application reports it; else empty
    std::int64_t units = 0;                     ///< of one run of each load
    std::vector<Configuration> configurations;  ///< by policy in the order asked for, the default first
    double lower_bound_s = std::numeric_limits<double>::quiet_NaN();  ///< NaN: none is known
    bool bound_is_measured = false;  ///< from the best speeds that were seen; else it is exact
    std::string unlike;              ///< what tells that units, or cores, are not alike, so that no bound is; or empty
    std::vector<std::string> notes;  ///< what was left out, and why
    ComparisonPlan plan;
    Ending ending = Ending::rounds;
    int rounds = 0;             ///< completed
    int signal = 0;             ///< that ended it
    double seconds = 0;         ///< that it took
    double cpus_of_others = 0;  ///< that other programs kept busy meanwhile

    const Configuration& default_of(const std::string& policy) const;  ///< or the only one
    const Configuration& best_of(const std::string& policy) const;
    std::vector<std::string> policies() const;
    std::vector<const RunReport*> best_reports() const;  ///< of best_of() all policies

    /// Of the policies' best configurations, in the order of policies().
    Order order() const;
};

/// Throws UserError when it is the name of no policy of Apportion and of no scheduler of this StarPU.
void check_policy(const std::string& policy);

/// The policies of Apportion that run everywhere, and some of StarPU's.
std::vector<std::string> default_policies();

/// The size of the problem as an application reports it, for the platform's time functions.
simulated::KernelSize simulated_size(const std::vector<std::int64_t>& size);

/// Runs everything. What was measured before a signal is kept; throws Interrupted when that is nothing.
Comparison compare(const ProgramRunner& runner, const ComparisonPlan& plan);

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
