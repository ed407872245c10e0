// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_parts.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>

#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/user_error.hpp"
#include "policies/shared/learnt_profile.hpp"
#include "policies/starpu/learnt_store.hpp"
#include "policies/starpu/profile_store.hpp"
#include "tools/apportion/run_report.hpp"

namespace apportion {

namespace {

/// A whole share at once; probes of growing sizes; sizes that fall from a share to a unit. What is learnt last may
/// replace all before it, so a policy of one size does not end the list.
constexpr const char* kPolicies[] = {"equal", "plb-hec", "gss"};

/// `report`: of the load's last run, which names the file of what all of them learnt.
LoadProfile profile_from(const RunReport& report, const ProgramRunner& runner) {
    const ProfileRequest request = profile_request(report);
    LoadProfile result{request.load, {}, {}};
    if (!report.learnt_file) {
        result.problem = fmt::format("runs of the load {} report nothing that they learnt", in_quotes(request.load));
        return result;
    }
    if (report.learnt_problem) {
        result.problem = *report.learnt_problem;
        return result;
    }
    LoadDescription load;
    load.units = request.units;
    load.granularity = request.granularity;
    load.processors = request.processors;
    std::vector<ProcessorProfile> times;
    try {
        const Profile kept = is_missing(*report.learnt_file) ? Profile{} : read_any_learnt(*report.learnt_file);
        for (const Processor& processor : request.processors) {
            const auto found = std::ranges::find(kept.processors, processor.name, &ProcessorProfile::name);
            times.push_back(found == kept.processors.end() ? ProcessorProfile{processor.name, {}} : *found);
        }
    } catch (const FileError& error) {
        result.problem = error.what();
        return result;
    }
    if (!any_learnt(times)) {
        result.problem = fmt::format("runs of the load {} learnt nothing", in_quotes(request.load));
        return result;
    }
    const RecordedTimes recorded = recorded_from_learnt(times, load);
    result.profile.processors = recorded.processors;
    result.profile.notes = {{"kernel", kLearntFromRuns},
                            {kLoadNote, request.load},
                            {kMachineNote, runner.machine().description},
                            {"program", fmt::format("{}", fmt::join(runner.command().words, " "))},
                            {"date", fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr)))}};
    if (!recorded.note.empty()) result.profile.notes.emplace_back("note", recorded.note);
    return result;
}

}  // namespace

std::vector<LoadProfile> learn_profiles(const ProgramRunner& runner, int repetitions, ProgressLine& progress,
                                        const std::string& out) {
    const TemporaryFolder folder;
    progress.expect(static_cast<std::size_t>(repetitions) * std::size(kPolicies));
    RunResult last;
    for (int k = 0; k < repetitions; ++k)
        for (const char* policy : kPolicies) {
            progress.begin(fmt::format("learning, round {}: {}", k + 1, policy));
            last = runner.run({.policy = policy, .round = k, .learn_into = folder.path().string()});
            progress.done();
            if (const std::size_t loads = last.largest_reports.size(); !out.empty() && loads > 1)
                throw UserError(
                    fmt::format("{}: the program has {} loads, whose profiles are that many files; leave --out away, "
                                "and let APPORTION_PROFILES name a folder or nothing",
                                out, loads));
        }
    std::vector<LoadProfile> profiles;
    for (const RunReport& report : last.largest_reports) profiles.push_back(profile_from(report, runner));
    return profiles;
}

}  // namespace apportion
