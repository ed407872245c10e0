// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs a program that submits loads under a scheduler, on this machine or on a simulated platform, and reads what its
// runs report (APPORTION_REPORT). The program needs to know nothing of this: STARPU_SCHED names the scheduler, and
// STARPU_SCHED_LIB the library for programs that call starpu_init themselves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codelets/common/child_process.hpp"
#include "codelets/simulated/platform.hpp"
#include "policies/starpu/machine.hpp"
#include "tools/apportion/run_report.hpp"

namespace apportion {

/// What to run.
struct ProgramCommand {
    std::vector<std::string> words;       ///< program and arguments
    std::string size;                     ///< what the --size of a bundled application is; empty: not given
    bool bundled = false;                 ///< the program is an application of Apportion, by its short name
    std::vector<std::string> launcher{};  ///< starts the program on several nodes; empty: on one
};

/// The command of `--app APP --size SIZE`, and of `-- PROGRAM ARGUMENTS...`, whose program may be a bundled
/// application. Throws UserError.
ProgramCommand bundled_command(const std::string& app, const std::string& size,
                               const std::vector<std::string>& arguments);
ProgramCommand program_command(const std::vector<std::string>& words);

/// Of workers, where the policies that are compared are those of nodes.
std::string inner_policy();

/// What to add when a program of that name cannot be run: that one is in this folder, if it is, and no folder is named.
std::string program_here(const std::string& name);

/// Throws UserError when smpirun, which starts programs on simulated clusters, would pass on other words than these.
void check_for_smpirun(const std::vector<std::string>& words);

/// One run of the program.
struct RunRequest {
    std::string policy;                    ///< of the workers; of the nodes where there are several
    std::string inner{};                   ///< of the workers there; empty: inner_policy()
    bool equal_blocks = false;             ///< by a scheduler of StarPU: the load is cut into equal blocks beforehand
    std::optional<std::int64_t> blocks{};  ///< how many; nothing: the default
    std::int64_t initial_block = 0;        ///< units of a policy's first blocks; 0: the default
    int round = 0;
    std::string learn_into{};       ///< folder of profiles where the run keeps what it learns; empty: it learns nothing
    bool without_recovery = false;  ///< late blocks are waited for
};

/// What one load of the program did in all its runs.
struct LoadTimes {
    std::string name;
    std::int64_t units = 0;  ///< of all runs
    int runs = 0;
    double seconds = 0;  ///< of all runs
    /// Of each processor while it computed, in its best run; 0: it computed nothing.
    std::map<std::string, double> units_per_s{};
};

struct RunResult {
    int round = 0;
    int pass = 0;           ///< those of one pass ran in an order drawn by chance, so that they can be compared
    double makespan_s = 0;  ///< of all runs of all loads together; simulated::kNever_s: one of them never ends
    std::vector<std::int64_t> size{};  ///< as a bundled application understands it; else empty
    RunReport report{};                ///< of the loads' largest runs, merged
    std::vector<LoadTimes> loads{};
    std::vector<RunReport> largest_reports{};  ///< LoadRuns::largest() of each load
};

/// A new folder in TMPDIR, removed with all that is in it.
class TemporaryFolder {
  public:
    TemporaryFolder();  ///< throws std::runtime_error
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

class ProgramRunner {
  public:
    /// Finds the program. `platform` nothing: on this machine. Throws UserError.
    ProgramRunner(ProgramCommand command, std::optional<simulated::Platform> platform, bool with_trace);

    /// May be called from several threads. Throws UserError and std::runtime_error: the program failed, submitted no
    /// load, or ran under another scheduler.
    RunResult run(const RunRequest& request) const;

    /// For all runs from now on.
    void set_environment(const std::string& name, const std::string& value) { environment_.push_back({name, value}); }

    /// For files that are needed as long as the runner.
    const std::filesystem::path& folder() const { return folder_.path(); }

    const std::string& name() const { return name_; }  ///< of the program, without its folder
    const ProgramCommand& command() const { return command_; }

    /// The machine that the runs are on, as profiles call it.
    Machine machine() const;

    const std::optional<simulated::Platform>& platform() const { return platform_; }

  private:
    std::vector<std::string> on_nodes(const std::vector<EnvironmentChange>& environment) const;
    std::vector<EnvironmentChange> environment_of(const RunRequest& request, const std::string& report_file) const;
    std::vector<RunReport> read_reports_of(const std::string& file, const RunRequest& request,
                                           const std::string& what) const;

    ProgramCommand command_;
    std::string name_;
    std::vector<std::string> arguments_;  ///< of the process, the program first
    std::optional<simulated::Platform> platform_;
    std::vector<EnvironmentChange> environment_;
    TemporaryFolder folder_;
};

}  // namespace apportion
