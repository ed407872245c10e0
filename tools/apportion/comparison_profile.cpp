// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/comparison_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "codelets/common/child_process.hpp"
#include "policies/starpu/profile_store.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/profile_platform.hpp"

namespace apportion {

namespace {

namespace fs = std::filesystem;

bool plans_from_profile(const std::string& policy) {
    const PolicyEntry* entry = find_policy(policy);
    return entry && entry->reads_profile;
}

/// What the load of that report would look for. Processors of one model are of one kind.
ProfileRequest request_of(const nlohmann::json& report) {
    ProfileRequest request;
    request.load = report.at("profile").at("name");
    request.units = report.at("units");
    request.granularity = report.at("granularity");
    std::map<std::string, int> kinds;
    for (const nlohmann::json& processor : report.at("processors")) {
        const std::string name = processor.at("name"), kind = processor.at("kind");
        const std::size_t model = name.find('(');
        const std::string key =
            kind + (model == std::string::npos ? "" : name.substr(model, name.find(" GiB") - model));
        request.processors.push_back({name, kinds.emplace(key, static_cast<int>(kinds.size())).first->second});
    }
    return request;
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

TemporaryFolder::TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "apportion-profile-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error(fmt::format("{}: a temporary folder cannot be made", name));
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

ComparisonProfile::ComparisonProfile(AppRunner& runner, const std::string& app, const std::string& size,
                                     const std::string& platform, const std::vector<std::string>& policies) {
    if (std::ranges::none_of(policies, plans_from_profile)) return;
    if (find_recorded_times(request_of(runner.run({.policy = "equal"}).report), runner.machine()).problem.empty())
        return;
    folder_.emplace();
    const std::string file = (folder_->path() / "profile.csv").string();
    std::cerr
        << "apportion compare: no usable profile is recorded, so the static policies get one that is made for this "
           "comparison\n";
    if (platform.empty())
        record_here(app, size, file);
    else
        save_profile(file, platform_profile(app, size, platform, {}, {}).profile);
    runner.set_environment("APPORTION_PROFILES", file);
}

}  // namespace apportion
