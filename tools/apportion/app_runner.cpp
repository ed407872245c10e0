// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/app_runner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "codelets/simulated/machine_files.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace fs = std::filesystem;

namespace {

constexpr int kUserHasToChange = 2;  ///< exit status of an application

/// Where applications of a flavour can be, seen from this program: in the build folders, or installed.
std::vector<fs::path> app_folders(bool simulated) {
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    if (simulated) return {here / "../../simgrid/apps", here / APPORTION_SIMULATED_APPS};
    return {here / "../apps", here};
}

fs::path find_app(const std::string& app, bool simulated) {
    if (app.empty() || app.find('/') != std::string::npos)
        throw UserError(fmt::format("--app {}: give the name of an application, such as matmul", app));
    std::vector<std::string> tried;
    for (const fs::path& folder : app_folders(simulated)) {
        const fs::path program = (folder / app).lexically_normal();
        std::error_code missing;
        if (fs::is_regular_file(program, missing)) return program;
        tried.push_back(program.string());
    }
    throw UserError(
        fmt::format("--app {}: there is no such application for {} runs; looked for {}; build it with "
                    "tools/build, or install it",
                    app, simulated ? "simulated" : "real", fmt::join(tried, " and ")));
}

/// The application's own complaint, or what else it said last.
std::string complaint(const std::string& app, const ChildResult& result) {
    std::istringstream lines(result.errors);
    std::string line, last, own;
    while (std::getline(lines, line)) {
        if (line.starts_with(app + ": ") && own.empty()) own = line;
        if (!line.empty()) last = line;
    }
    if (!own.empty()) return own;
    const std::string end = result.status > 128 ? fmt::format("ended by signal {}", result.status - 128)
                                                : fmt::format("exit status {}", result.status);
    return fmt::format("{}: {}{}{}", app, end, last.empty() ? "" : ": ", last);
}

}  // namespace

AppRunner::AppRunner(const std::string& app, const std::string& size, std::optional<simulated::Platform> platform,
                     bool with_trace)
    : app_(app), size_(size), platform_(std::move(platform)), program_(find_app(app, platform_.has_value())) {
    if (with_trace) environment_.push_back({"APPORTION_TRACE", "1"});
    // Reports of these runs are read here; a file of the user's would get one from every run.
    environment_.push_back({"APPORTION_REPORT", "", true});
    // Neither what was learnt before nor what one run learns may decide how another one does.
    environment_.push_back({"APPORTION_LEARN", "0"});
    if (!platform_) return;
    for (const auto& [name, value] :
         simulated::write_machine_files(*platform_, simulated::machine_files_cache(*platform_)))
        environment_.push_back({name, value});
}

Machine AppRunner::machine() const {
    if (!platform_) return this_machine();
    std::map<std::string, std::string> values;
    for (const EnvironmentChange& change : environment_) values[change.name] = change.value;
    return simulated_machine(values["STARPU_HOSTNAME"], values["APPORTION_PLATFORM"]);
}

RunResult AppRunner::run(const RunRequest& request) const {
    std::vector<EnvironmentChange> environment = environment_;
    environment.push_back({"STARPU_SCHED", request.policy});
    if (request.blocks && request.equal_blocks)
        environment.push_back({"APPORTION_BLOCKS", std::to_string(*request.blocks)});
    else
        environment.push_back({"APPORTION_BLOCKS", "", true});
    if (request.initial_block > 0)
        environment.push_back({"APPORTION_INITIAL_BLOCK", std::to_string(request.initial_block)});
    if (platform_)
        environment.push_back({"APPORTION_PLATFORM_SEED",
                               std::to_string(platform_->seed + static_cast<std::uint64_t>(request.repetition))});

    const std::string what = fmt::format("{} under {}{}", app_, request.policy,
                                         request.blocks ? fmt::format(" with {} blocks", *request.blocks) : "");
    const ChildResult result = run_child({program_.string(), "--size", size_, "--json"}, environment);
    if (result.status != 0) {
        const std::string problem = fmt::format("{} failed: {}", what, complaint(app_, result));
        if (result.status == kUserHasToChange) throw UserError(problem);
        throw std::runtime_error(problem);
    }
    try {
        const auto json = nlohmann::json::parse(result.output);
        return {json.at("seconds").get<double>(), json.at("size"), json.at("report")};
    } catch (const nlohmann::json::exception& error) {
        throw std::runtime_error(fmt::format("{} printed no usable JSON: {}", what, error.what()));
    }
}

}  // namespace apportion
