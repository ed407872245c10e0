// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/config.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "models/io/handicaps.hpp"
#include "models/io/nearest_name.hpp"
#include "models/io/text.hpp"

namespace apportion {

namespace {

constexpr std::string_view kPrefix = "APPORTION_";
constexpr std::string_view kAll = "all";              // of APPORTION_GROUPS
constexpr std::string_view kPublished = "published";  // of APPORTION_OFFSET

std::optional<Units> whole_number(std::string_view text, Units smallest) {
    const auto value = parse_number<Units>(text);
    return value && *value >= smallest ? value : std::nullopt;
}

/// 0, or at least 1.
std::optional<double> stall_factor(std::string_view text) {
    const auto value = parse_number<double>(text);
    return value && std::isfinite(*value) && (*value == 0 || *value >= 1) ? value : std::nullopt;
}

/// Equal blocks are made at once, and each of them takes memory.
std::optional<Units> number_of_blocks(std::string_view text) {
    const auto value = whole_number(text, 1);
    return value && *value <= kMostEqualBlocks ? value : std::nullopt;
}
std::string check_blocks(const std::string& value) {
    return number_of_blocks(value) ? "" : fmt::format("it must be a whole number from 1 to {}", kMostEqualBlocks);
}
std::string check_positive(const std::string& value) {
    return whole_number(value, 1) ? "" : "it must be a whole number from 1 to 2^63 - 1";
}
/// "N[,N...]" or "all"; nothing: neither.
std::optional<std::vector<Units>> group_list(std::string_view text) {
    if (text == kAll) return std::vector{kNoLimit};
    std::vector<Units> sizes;
    for (const std::string_view part : split(text, ',')) {
        const auto size = whole_number(part, 1);
        if (!size) return std::nullopt;
        sizes.push_back(*size);
    }
    return sizes;
}
std::string check_groups(const std::string& value) {
    return group_list(value) ? "" : "it must be all, or how many cores a group has, as 11 or 12,10";
}
std::string check_offset(const std::string& value) {
    return value == kPublished || whole_number(value, 0)
               ? ""
               : "it must be a whole number of units, at least 0, or published";
}
std::string check_network(const std::string& value) {
    return value == "parallel" || value == "serial" ? "" : "it must be parallel or serial";
}
std::string check_switch(const std::string& value) { return value == "0" || value == "1" ? "" : "it must be 0 or 1"; }
std::string check_stall_factor(const std::string& value) {
    return stall_factor(value) ? "" : "it must be 0 (off) or a number of at least 1";
}
std::string check_policy(const std::string& value) {
    return find_policy(value) ? "" : "it must be a policy of Apportion; STARPU_SCHED=help lists them";
}
std::string check_handicap(const std::string& value) {
    return parse_handicaps(value) ? "" : fmt::format("it must be {}", kHandicapForm);
}
/// Validated by its consumer.
std::string check_nothing(const std::string&) { return ""; }

const EnvironmentVariable kVariables[] = {
    {"APPORTION_NODES", "policy that grants units to nodes, in programs started by mpirun", "name of a policy",
     "plb-hec", check_policy},
    {"APPORTION_INITIAL_BLOCK", "units of a first block (plb-hec: of a device)", "integer >= 1", "units / (64 workers)",
     check_positive},
    {"APPORTION_BLOCKS", "number of equal blocks under StarPU's schedulers; of an open load, if its units came at once",
     "integer from 1 to 4194304", "4 per worker", check_blocks},
    {"APPORTION_GROUPS",
     "cores that are one processor under a policy of Apportion: so many neighbours each, the last number for the rest",
     "all | integer >= 1[,integer...]", "every core is one", check_groups},
    {"APPORTION_OFFSET",
     "imbalance: units by which the shares of odd processors exceed equal ones, and those of even ones fall short of "
     "them; published: they are tried as in its paper",
     "integer >= 0 | published", "from the profile, or tried", check_offset},
    {"APPORTION_NETWORK",
     "ilp and min-min plan for links that carry data at the same time (parallel), or one after the other and not while "
     "processors compute (serial)",
     "parallel | serial", "parallel", check_network},
    {"APPORTION_PROFILES", "recorded profiles: a folder of them, or one file", "folder | file name",
     "~/.local/share/apportion/profiles", check_nothing},
    {"APPORTION_LEARN", "1: what runs learn about kernels is kept for later processes", "0 | 1", "1", check_switch},
    {"APPORTION_REPORT", "file that every finished load appends its JSON report to", "file name", "none",
     check_nothing},
    {"APPORTION_TRACE", "1: the report lists every block", "0 | 1", "0", check_switch},
    {"APPORTION_STALL_FACTOR",
     "a block that takes this many times its expected time, and as much more as any block exceeded that by, while all "
     "other workers are idle is given up (0: every block is waited for and none is taken over)",
     "0 | number >= 1", "50", check_stall_factor},
    {"APPORTION_HANDICAP", "CPU workers of bundled applications that repeat their arithmetic, for tests",
     "worker=factor[,worker=factor]", "none", check_handicap},
    {"APPORTION_PLATFORM", "platform file of the simulated machine", "file name", "none", check_nothing},
    {"APPORTION_CHARGE_PLANNING",
     "1: on a simulated machine, what decisions take on this one is a part of the run; times are not the same twice "
     "then",
     "0 | 1", "0", check_switch},
    {"APPORTION_PLATFORM_SEED", "seed of the simulated noise", "integer >= 1", "the platform file's", check_positive},
};

/// Read by the set-up scripts, not by the library.
constexpr const char* kOtherNames[] = {"APPORTION_CACHE", "APPORTION_STARPU_REAL", "APPORTION_STARPU_SIMGRID",
                                       "APPORTION_STARPU_MPI", "APPORTION_STARPU_SMPI"};

std::vector<std::string> known_names() {
    std::vector<std::string> names(std::begin(kOtherNames), std::end(kOtherNames));
    for (const EnvironmentVariable& variable : kVariables) names.emplace_back(variable.name);
    return names;
}

}  // namespace

std::span<const EnvironmentVariable> environment_variables() { return kVariables; }

std::optional<std::string> check_environment() {
    for (const EnvironmentVariable& variable : kVariables) {
        const std::string value = environment(variable.name);
        if (value.empty()) continue;
        if (const std::string wrong = variable.check(value); !wrong.empty())
            return fmt::format("Environment variable {}: \"{}\" is not usable, {}.", variable.name, value, wrong);
    }
    const auto names = known_names();
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view text = *entry;
        const std::string_view name = text.substr(0, text.find('='));
        if (!name.starts_with(kPrefix) || std::ranges::find(names, name) != names.end()) continue;
        const std::string hint = did_you_mean(name, names);
        return fmt::format("Environment variable {} is unknown{}.", name,
                           hint.empty() ? "; unset it, docs/environment.md has those there are" : hint);
    }
    return std::nullopt;
}

std::optional<std::string> nodes_option() {
    const std::string name = environment("APPORTION_NODES");
    return name.empty() ? std::nullopt : std::optional(name);
}
std::optional<Units> initial_block_option() { return whole_number(environment("APPORTION_INITIAL_BLOCK"), 1); }
std::optional<Units> blocks_option() { return number_of_blocks(environment("APPORTION_BLOCKS")); }
std::vector<Units> groups_option() {
    return group_list(environment("APPORTION_GROUPS")).value_or(std::vector<Units>{});
}
std::optional<Units> offset_option() { return whole_number(environment("APPORTION_OFFSET"), 0); }
bool offset_as_published() { return environment("APPORTION_OFFSET") == kPublished; }
bool serial_network_option() { return environment("APPORTION_NETWORK") == "serial"; }
std::string report_file_option() { return environment("APPORTION_REPORT"); }
std::string profiles_option() { return environment("APPORTION_PROFILES"); }
bool learn_option() { return environment("APPORTION_LEARN") != "0"; }
bool trace_option() { return environment("APPORTION_TRACE") == "1"; }
bool charge_planning_option() { return environment("APPORTION_CHARGE_PLANNING") == "1"; }
double stall_factor_option() {
    constexpr double kDefault = 50;
    return stall_factor(environment("APPORTION_STALL_FACTOR")).value_or(kDefault);
}
std::string platform_file_option() { return environment("APPORTION_PLATFORM"); }

}  // namespace apportion
