// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/comparison_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "codelets/common/child_process.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/profile_platform.hpp"
#include "tools/apportion/recorded_load.hpp"

namespace apportion {

namespace {

namespace fs = std::filesystem;

/// `auto` and `imbalance` do without, and are better with one.
bool plans_from_profile(const std::string& policy) {
    const PolicyEntry* entry = find_policy(policy);
    return entry && entry->reads_profile;
}
bool needs_profile(const std::string& policy) {
    return plans_from_profile(policy) && policy != "auto" && policy != "imbalance";
}

std::string problem_of(const nlohmann::json& report, const ProgramRunner& runner) {
    return find_recorded_times(profile_request(report), runner.machine()).problem;
}

void record_here(const std::string& app, const std::string& size, const std::string& file) {
    const ChildResult result =
        run_child({fs::read_symlink("/proc/self/exe").string(), "profile", "--app", app, "--size", size, "--out", file,
                   "--max-seconds", "0.5", "--max-repetitions", "5"});
    if (result.status != 0)
        throw std::runtime_error(fmt::format("no profile could be recorded for the static policies: {}",
                                             result.errors.substr(0, result.errors.find('\n'))));
}

}  // namespace

ComparisonProfile::ComparisonProfile(ProgramRunner& runner, const std::string& platform,
                                     std::vector<std::string> policies, bool chosen_by_user, RunProgress& progress)
    : policies_(std::move(policies)) {
    if (std::ranges::none_of(policies_, plans_from_profile)) return;
    progress.begin("which profile is there");
    const nlohmann::json report = runner.run({.policy = "equal"}).report;
    std::string problem = problem_of(report, runner);
    if (problem.empty()) return;
    if (runner.command().bundled) {
        std::cerr
            << "apportion compare: no usable profile is recorded, so the static policies get one that is made for this "
               "comparison\n";
        progress.begin("recording a profile");
        problem = record(runner, platform, report);
        if (problem.empty()) return;
    }
    if (chosen_by_user && std::ranges::any_of(policies_, needs_profile))
        throw UserError(
            fmt::format("{} needs a profile: {}", *std::ranges::find_if(policies_, needs_profile), problem));
    std::string left_out;
    for (const std::string& policy : policies_)
        if (needs_profile(policy)) left_out += (left_out.empty() ? "" : ", ") + policy;
    std::erase_if(policies_, needs_profile);
    if (!left_out.empty())
        notes_.push_back(fmt::format("left out are {}, which need a profile: {}", left_out, problem));
}

std::string ComparisonProfile::record(ProgramRunner& runner, const std::string& platform,
                                      const nlohmann::json& report) {
    folder_.emplace();
    const std::string file = (folder_->path() / "profile.csv").string();
    const std::string& app = runner.name();
    const std::string& size = runner.command().size;
    if (size.empty()) return "it is recorded for --app and --size only";
    if (platform.empty())
        record_here(app, size, file);
    else
        save_profile(file, platform_profile(app, size, platform, {}, {}).profile);
    // With other options the application may look for another profile.
    const char* before = std::getenv("APPORTION_PROFILES");
    const std::string kept = before ? before : "";
    setenv("APPORTION_PROFILES", file.c_str(), 1);
    const std::string problem = problem_of(report, runner);
    if (before)
        setenv("APPORTION_PROFILES", kept.c_str(), 1);
    else
        unsetenv("APPORTION_PROFILES");
    if (problem.empty()) runner.set_environment("APPORTION_PROFILES", file);
    return problem;
}

}  // namespace apportion
