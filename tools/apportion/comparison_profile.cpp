// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>

#include "codelets/common/child_process.hpp"
#include "codelets/io/progress.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/profile_parts.hpp"
#include "tools/apportion/run_report.hpp"

namespace apportion {

namespace {

namespace fs = std::filesystem;

bool reads_profile(const std::string& policy) {
    const PolicyEntry* entry = find_policy(policy);
    return entry && entry->reads_profile();
}
bool needs_profile(const std::string& policy) {
    const PolicyEntry* entry = find_policy(policy);
    return entry && entry->profile == ProfileUse::required;
}

/// Whether the program may be an application whose kernel is known: on a platform that describes it.
bool has_kernel(const ProgramRunner& runner) {
    return runner.command().bundled && !runner.command().size.empty() &&
           (!runner.platform() || runner.platform()->kernels.contains(runner.name()));
}

std::string problem_of(const RunReport& report, const ProgramRunner& runner) {
    return find_recorded_times(profile_request(report), runner.machine()).problem;
}

/// Empty, or why there is none.
std::string record_here(const std::string& app, const std::string& size, const std::string& file) {
    const ChildResult result =
        run_child({fs::read_symlink("/proc/self/exe").string(), "profile", "--app", app, "--size", size, "--out", file,
                   "--max-seconds", "0.5", "--max-repetitions", "5"});
    return result.status == 0 ? "" : result.errors.substr(0, result.errors.find('\n'));
}

/// `run`: one of the program. Empty, or why the program does not take it.
std::string record_application(const ProgramRunner& runner, const RunResult& run, const std::string& file,
                               ProgressLine& progress) {
    progress.begin("recording a profile");
    const std::string& size = runner.command().size;
    if (const auto& platform = runner.platform())
        save_profile(file, true_times({runner.name(), size, simulated_size(run.size)}, *platform, runner.machine(),
                                      run.report, {}, {})
                               .profile);
    else if (const std::string problem = record_here(runner.name(), size, file); !problem.empty())
        return problem;
    // With other options the application may look for another profile.
    const char* before = std::getenv("APPORTION_PROFILES");
    const std::string kept = before ? before : "";
    setenv("APPORTION_PROFILES", file.c_str(), 1);
    const std::string problem = problem_of(run.report, runner);
    if (before)
        setenv("APPORTION_PROFILES", kept.c_str(), 1);
    else
        unsetenv("APPORTION_PROFILES");
    return problem;
}

/// Each machine has its own profile, which no comparison makes. Those of this one are seen from here.
void check_nodes(const ProgramRunner& runner, const std::vector<std::string>& policies) {
    const auto policy = std::ranges::find_if(policies, needs_profile);
    if (policy == policies.end()) return;
    const RunResult run = runner.run({.policy = "equal", .inner = "equal", .without_recovery = true});
    for (const RunReport& report : run.largest_reports)
        for (std::size_t rank = 0; rank < std::min(report.nodes.size(), report.processors.size()); ++rank) {
            const std::string node = fmt::format("node {} ({})", rank, host_name());
            if (report.nodes[rank].processors.empty() || report.processors[rank].name != node) continue;
            ProfileRequest request = profile_request(report.nodes[rank]);
            request.command = fmt::format("apportion profile -- {}", fmt::join(runner.command().words, " "));
            request.learns = false;  // the runs of a comparison do not take what was learnt
            const std::string problem = find_recorded_times(request, this_machine()).problem;
            if (!problem.empty())
                throw UserError(
                    "{} needs a recorded profile on every machine, and on {} {}; or leave {} out of --policies",
                    *policy, node, problem, *policy);
        }
}

/// Recorded profiles are those of machines, and no command records them for nodes.
/// Empty, or why there are none.
std::string record_nodes(ProgramRunner& runner) {
    if (!has_kernel(runner))
        return "nodes of a cluster have true times of bundled applications that are given a --size";
    const RunResult run = runner.run({.policy = "equal", .inner = "equal", .without_recovery = true});
    const Kernel kernel{runner.name(), runner.command().size, simulated_size(run.size)};
    for (const RunReport& report : run.largest_reports)
        if (std::string problem = save_cluster_profiles(kernel, *runner.platform(), report, runner.folder());
            !problem.empty())
            return problem;
    runner.set_environment("APPORTION_PROFILES", runner.folder().string());
    return {};
}

/// Empty, or why there is no profile.
std::string record(ProgramRunner& runner, const RunResult& run, ProgressLine& progress) {
    if (has_kernel(runner)) {
        const std::string file = (runner.folder() / "profile.csv").string();
        if (record_application(runner, run, file, progress).empty()) {
            runner.set_environment("APPORTION_PROFILES", file);
            return {};
        }
    }
    // A folder, where programs with several loads find one for each.
    for (const LoadProfile& learnt : learn_profiles(runner, 1, progress)) {
        if (!learnt.problem.empty()) return learnt.problem;
        const fs::path file = runner.folder() / file_name(runner.machine().name) / (file_name(learnt.load) + ".csv");
        fs::create_directories(file.parent_path());
        save_profile(file.string(), learnt.profile);
    }
    runner.set_environment("APPORTION_PROFILES", runner.folder().string());
    return {};
}

}  // namespace

std::vector<std::string> prepare_profile(ProgramRunner& runner, ComparisonPlan& plan, bool chosen_by_user) {
    std::vector<std::string>& policies = plan.policies;
    if (std::ranges::none_of(policies, reads_profile)) return {};
    ProgressLine progress("apportion compare");
    progress.begin("which profile is there");
    if (!runner.command().launcher.empty() && !runner.platform()) {
        check_nodes(runner, policies);
        return {};
    }
    std::string problem;
    if (runner.platform() && !runner.platform()->nodes.empty()) {
        problem = record_nodes(runner);
    } else {
        const RunResult run = runner.run({.policy = "equal"});
        if (problem_of(run.report, runner).empty()) return {};
        problem = record(runner, run, progress);
    }
    if (problem.empty()) {
        std::cerr << "apportion compare: no usable profile is recorded, so the static policies have one that was made "
                     "for this comparison\n";
        return {};
    }
    std::vector<std::string> left_out;
    std::ranges::copy_if(policies, std::back_inserter(left_out), needs_profile);
    if (left_out.empty()) return {};
    if (chosen_by_user)
        throw UserError(
            "{} needs a profile, and none could be made: {}; leave it out of --policies, or record one by `apportion "
            "profile`",
            left_out.front(), problem);
    std::erase_if(policies, needs_profile);
    return {fmt::format("left out are {}, which need a profile: {}", fmt::join(left_out, ", "), problem)};
}

}  // namespace apportion
