// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/program_runner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "codelets/common/codelet.hpp"
#include "codelets/simulated/machine_files.hpp"
#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "policies/policy.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/run_report.hpp"

namespace apportion {

namespace fs = std::filesystem;

namespace {

constexpr int kUserHasToChange = 2;  ///< exit status of an application

/// Whose programs are in a folder of that name.
struct Flavour {
    const char* folder;
    const char* runs;
    const char* build_argument;
};
constexpr Flavour kReal{"real", "real runs", ""}, kSimulated{"simgrid", "simulated runs", ""},
    kOverNodes{"mpi", "runs over nodes", " mpi"}, kClusters{"smpi", "runs on simulated clusters", " smpi"};

const Flavour& flavour_of(const ProgramCommand& command, const std::optional<simulated::Platform>& platform) {
    if (platform) return platform->nodes.empty() ? kSimulated : kClusters;
    return command.launcher.empty() ? kReal : kOverNodes;
}

/// Where applications of a flavour can be, seen from this program: in the build folders, or installed.
std::vector<fs::path> app_folders(const Flavour& flavour) {
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    if (&flavour == &kReal) return {here / "../apps", here};
    return {here / "../.." / flavour.folder / "apps", (here / APPORTION_SIMULATED_APPS).parent_path() / flavour.folder};
}

std::string find_app(const std::string& app, const Flavour& flavour) {
    std::vector<std::string> tried;
    for (const fs::path& folder : app_folders(flavour)) {
        const fs::path program = (folder / app).lexically_normal();
        std::error_code missing;
        if (fs::is_regular_file(program, missing)) return program.string();
        tried.push_back(program.string());
    }
    throw UserError(
        "--app {}: there is no such application for {}; looked for {}; build it with tools/build{}, or install it", app,
        flavour.runs, fmt::join(tried, " and "), flavour.build_argument);
}

bool is_bundled(const std::string& name) {
    return name == "hello_blocks" ||
           std::ranges::any_of(bundled_workloads(), [&](const auto& entry) { return name == entry.name; });
}

/// What stands behind the last --size of an application's arguments; empty where there is none.
std::string size_among(const std::vector<std::string>& words) {
    const std::string option = "--size", with_value = option + "=";
    std::string size;
    for (std::size_t k = 1; k < words.size(); ++k) {
        if (words[k].starts_with(with_value)) size = words[k].substr(with_value.size());
        if (words[k] == option && k + 1 < words.size()) size = words[k + 1];
    }
    return size;
}

/// Of that flavour, in the build folders or installed; empty where it is not there.
std::string scheduling_library(bool simulated) {
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    const fs::path built = simulated ? "../../simgrid/policies/starpu" : "../policies/starpu";
    const fs::path installed = simulated ? APPORTION_SIMULATED_LIBRARY : APPORTION_LIBRARY;
    std::error_code missing;
    for (const fs::path& folder : {built, installed})
        if (const fs::path library = (here / folder / "libapportion.so").lexically_normal();
            fs::exists(library, missing))
            return library.string();
    return "";
}

/// Not a line that only separates others, as mpirun draws them.
bool says_something(const std::string& line) {
    return std::ranges::any_of(line, [](unsigned char c) { return std::isalnum(c) || c >= 0x80; });
}

/// The program's own complaint, or what else it said last.
std::string complaint(const std::string& name, const ChildResult& result) {
    std::istringstream lines(result.errors);
    std::string line, last, own;
    while (std::getline(lines, line)) {
        if (line.starts_with(name + ": ") && own.empty()) own = line;
        if (says_something(line)) last = line;
    }
    if (!own.empty()) return own;
    const std::string end = result.status > 128 ? fmt::format("ended by signal {}", result.status - 128)
                                                : fmt::format("exit status {}", result.status);
    return fmt::format("{}: {}{}{}", name, end, last.empty() ? "" : ": ", last);
}

/// "size" of what a bundled application prints, a number or a list of them.
std::vector<std::int64_t> printed_size(const std::string& output) {
    const nlohmann::json printed = nlohmann::json::parse(output, nullptr, false);
    const nlohmann::json size = printed.is_object() ? printed.value("size", nlohmann::json()) : nlohmann::json();
    std::vector<std::int64_t> numbers;
    for (const nlohmann::json& number : size.is_array() ? size : nlohmann::json::array({size}))
        if (number.is_number()) numbers.push_back(number.get<std::int64_t>());
    return numbers;
}

LoadTimes times_of(const LoadRuns& load) {
    LoadTimes times{load.name, 0, static_cast<int>(load.reports.size()), load.seconds()};
    for (const RunReport* report : load.reports) {
        times.units += report->units;
        for (const ReportedProcessor& processor : report->processors) {
            double& best = times.units_per_s[processor.name];
            if (processor.compute_s > 0)
                best = std::max(best, static_cast<double>(processor.units) / processor.compute_s);
        }
    }
    return times;
}

}  // namespace

ProgramCommand bundled_command(const std::string& app, const std::string& size,
                               const std::vector<std::string>& arguments) {
    if (app.empty() || app.find('/') != std::string::npos)
        throw UserError(
            "--app {}: give the name of an application, such as matmul; any other program stands with its arguments "
            "behind --",
            app);
    ProgramCommand command{{app, "--size", size}, size, true};
    command.words.insert(command.words.end(), arguments.begin(), arguments.end());
    return command;
}

ProgramCommand program_command(const std::vector<std::string>& words) {
    if (words.front().empty())
        throw UserError("the program behind -- has an empty name; give its path, perhaps a variable was not set");
    const bool bundled = is_bundled(words.front());
    return {words, bundled ? size_among(words) : "", bundled};
}

std::string inner_policy() {
    const char* const chosen = std::getenv("STARPU_SCHED");
    return chosen ? chosen : "plb-hec";
}

std::string program_here(const std::string& name) {
    std::error_code missing;
    return fs::path(name).has_parent_path() || !fs::exists(name, missing) ? ""
                                                                          : fmt::format("; did you mean ./{}?", name);
}

void check_for_smpirun(const std::vector<std::string>& words) {
    for (const std::string& word : words)
        if (word.empty() || word.find_first_of(" \t\n\r*?[") != word.npos)
            throw UserError(
                "{}: smpirun, which starts programs on simulated clusters, accepts no empty argument and none with "
                "white space or *?[ in it; use other names",
                in_quotes(word));
}

TemporaryFolder::TemporaryFolder() {
    const char* chosen = std::getenv("TMPDIR");
    std::string name = (fs::path(chosen && *chosen ? chosen : "/tmp") / "apportion-XXXXXX").string();
    if (!mkdtemp(name.data()))
        throw std::runtime_error(
            fmt::format("{}: a temporary folder cannot be made: {}; let TMPDIR name a folder that you may write to",
                        name, std::strerror(errno)));
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

ProgramRunner::ProgramRunner(ProgramCommand command, std::optional<simulated::Platform> platform, bool with_trace)
    : command_(std::move(command)),
      name_(fs::path(command_.words.front()).filename().string()),
      arguments_(command_.words),
      platform_(std::move(platform)) {
    if (command_.bundled) {
        arguments_.front() = find_app(name_, flavour_of(command_, platform_));
        if (std::ranges::find(arguments_, "--json") == arguments_.end()) arguments_.push_back("--json");
    }
    if (with_trace) environment_.push_back({"APPORTION_TRACE", "1"});
    if (!platform_) return;
    std::vector<EnvironmentChange> environment;
    if (const auto folder = simulated::machine_files_cache(*platform_); platform_->nodes.empty()) {
        environment = simulated::write_machine_files(*platform_, folder);
    } else {
        check_for_smpirun(arguments_);
        simulated::ClusterFiles files = simulated::write_cluster_files(*platform_, folder);
        command_.launcher = std::move(files.launcher);
        environment = std::move(files.environment);
    }
    environment_.insert(environment_.end(), environment.begin(), environment.end());
}

Machine ProgramRunner::machine() const {
    if (!platform_) return this_machine();
    std::map<std::string, std::string> values;
    for (const EnvironmentChange& change : environment_) values[change.name] = change.value;
    return simulated_machine(values["STARPU_HOSTNAME"], values["APPORTION_PLATFORM"]);
}

std::vector<EnvironmentChange> ProgramRunner::environment_of(const RunRequest& request,
                                                             const std::string& report_file) const {
    std::vector<EnvironmentChange> environment = environment_;
    environment.push_back({"APPORTION_REPORT", report_file});
    // Neither what was learnt before nor what one run learns may decide how another one does, unless it is asked to.
    environment.push_back({"APPORTION_LEARN", request.learn_into.empty() ? "0" : "1"});
    if (!request.learn_into.empty()) environment.push_back({"APPORTION_PROFILES", request.learn_into});
    if (request.without_recovery) environment.push_back({"APPORTION_STALL_FACTOR", "0"});
    if (platform_)
        environment.push_back(
            {"APPORTION_PLATFORM_SEED", std::to_string(platform_->seed + static_cast<std::uint64_t>(request.round))});
    if (!command_.launcher.empty()) {
        environment.push_back({"STARPU_SCHED", request.inner.empty() ? inner_policy() : request.inner});
        environment.push_back({"APPORTION_NODES", request.policy});
        return environment;  // a program over nodes calls apportion_mpi_init
    }
    environment.push_back({"STARPU_SCHED", request.policy});
    if (!command_.bundled && find_policy(request.policy) && !std::getenv("STARPU_SCHED_LIB"))
        if (const std::string library = scheduling_library(platform_.has_value()); !library.empty())
            environment.push_back({"STARPU_SCHED_LIB", library});
    if (request.blocks && request.equal_blocks)
        environment.push_back({"APPORTION_BLOCKS", std::to_string(*request.blocks)});
    else
        environment.push_back({"APPORTION_BLOCKS", "", true});
    if (request.initial_block > 0)
        environment.push_back({"APPORTION_INITIAL_BLOCK", std::to_string(request.initial_block)});
    return environment;
}

/// The launcher, and on each node `env`: launchers differ in which variables they pass on. smpirun starts one process.
std::vector<std::string> ProgramRunner::on_nodes(const std::vector<EnvironmentChange>& environment) const {
    std::vector<std::string> words = command_.launcher;
    if (!platform_) {
        words.emplace_back("env");
        for (const EnvironmentChange& change : environment) words.push_back(change.name + "=" + change.value);
    }
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    return words;
}

std::vector<RunReport> ProgramRunner::read_reports_of(const std::string& file, const RunRequest& request,
                                                      const std::string& what) const {
    std::error_code missing;
    std::vector<RunReport> reports;
    if (fs::exists(file, missing)) {
        const std::string text = read_whole_file(file);
        fs::remove(file, missing);
        reports = parse_reports(text, fmt::format("what {} reported", what));
    }
    if (reports.empty())
        throw UserError(
            "{} submitted no load, so there is nothing to measure; a program has to run its loads by "
            "apportion_load_submit and apportion_load_wait",
            what);
    for (const RunReport& report : reports) {
        if (report.error) throw std::runtime_error(fmt::format("{} failed: {}", what, *report.error));
        if (report.policy == request.policy) continue;
        if (report.processors.size() == 1 && report.processors.front().kind == "node")
            throw UserError(
                "{}: it ran on one node, where policies over nodes have nothing to decide; give it several, or compare "
                "those inside of a node: without a launcher, or on a platform without [[node]]",
                what);
        throw UserError(
            "{}: load {} ran under {} instead; let the program call apportion_init, or starpu_init without a scheduler "
            "of its own",
            what, in_quotes(report.load), in_quotes(report.policy));
    }
    return reports;
}

RunResult ProgramRunner::run(const RunRequest& request) const {
    static std::atomic<int> runs{0};
    const std::string file = (folder_.path() / fmt::format("reports-{}", ++runs)).string();
    const std::string what = fmt::format("{} under {}{}", name_, request.policy,
                                         request.blocks ? " with " + counted(*request.blocks, "block") : "");
    ChildResult result;
    try {
        const std::vector<EnvironmentChange> environment = environment_of(request, file);
        result = command_.launcher.empty() ? run_child(arguments_, environment)
                 : platform_               ? run_child(on_nodes(environment), environment)
                                           : run_child(on_nodes(environment));
    } catch (const CannotRun& error) {
        throw UserError("{}{}", error.what(), program_here(command_.words.front()));
    }
    if (result.status != 0) {
        const std::string problem = fmt::format("{} failed: {}", what, complaint(name_, result));
        if (result.status == kUserHasToChange) throw UserError(problem);
        throw std::runtime_error(problem);
    }
    const std::vector<RunReport> reports = read_reports_of(file, request, what);
    const std::vector<LoadRuns> loads = loads_of(reports);
    RunResult run;
    run.round = request.round;
    run.report = merged_report(loads);
    for (const LoadRuns& load : loads) {
        run.loads.push_back(times_of(load));
        run.makespan_s += run.loads.back().seconds;
    }
    // How long "never" is depends on how many such blocks the clock added up.
    run.makespan_s = std::min(run.makespan_s, simulated::kNever_s);
    for (const LoadRuns& load : loads) run.largest_reports.push_back(load.largest());
    if (command_.bundled) run.size = printed_size(result.output);
    return run;
}

}  // namespace apportion
