// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What `apportion compare` measures and concludes: one configuration is a policy with a number of blocks, run several
// times. Policies that are given the size of their blocks (StarPU's schedulers, and greedy) are tried with several.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/apportion/app_runner.hpp"

namespace apportion {

enum class Choice {
    only,          ///< the policy decides on its blocks itself
    default_size,  ///< the number of blocks nobody asked for
    sweep,         ///< one of the numbers that were tried
};

struct Configuration {
    std::string policy;
    Choice choice = Choice::only;
    std::optional<std::int64_t> asked_blocks;
    std::vector<RunResult> runs;  ///< one a repetition

    double median_s() const;
    double min_s() const;
    double max_s() const;
    const RunResult& median_run() const;  ///< the one whose makespan is the median, or the one just below
    std::int64_t blocks() const;          ///< of the median run
    double idle_percent() const;
};

struct ComparisonPlan {
    std::vector<std::string> policies;
    std::vector<std::int64_t> blocks;  ///< to try; empty: powers of two, see automatic_blocks()
    bool sweep = true;
    int repetitions = 1;
    int jobs = 1;  ///< runs at the same time
};

struct Comparison {
    std::string app;
    std::string platform;                      ///< empty: this machine
    std::vector<std::string> platform_events;  ///< "GTX Titan: lost at 25 s", for devices that do not stay the same
    nlohmann::json asked_size;                 ///< as the user gave it: a number, or a list
    nlohmann::json size;                       ///< as the application reports it
    std::int64_t units = 0;
    std::vector<Configuration> configurations;  ///< by policy in the order asked for, the default first
    double lower_bound_s = std::numeric_limits<double>::quiet_NaN();
    bool bound_is_estimated = false;

    const Configuration& default_of(const std::string& policy) const;  ///< or the only one
    const Configuration& best_of(const std::string& policy) const;
    std::vector<std::string> policies() const;
};

/// Throws UserError when it is the name of no policy of Apportion and of no scheduler of StarPU.
void check_policy(const std::string& policy);

bool is_swept(const std::string& policy);

/// Powers of two from a quarter of the number of processors to 128 times that number, of which every block is at least
/// a granule and fits every processor's memory, as a report of the load tells; and the smallest number for which they
/// fit.
std::vector<std::int64_t> automatic_blocks(const nlohmann::json& report);

/// The size of the problem as an application reports it, for the platform's time functions.
simulated::KernelSize simulated_size(const nlohmann::json& size);

/// Runs everything. `progress` is called before each run with a line about it, from any thread but not twice at once.
Comparison compare(const AppRunner& runner, const std::string& app, const ComparisonPlan& plan,
                   const std::function<void(const std::string&)>& progress);

}  // namespace apportion
