// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs one of the applications under a scheduler, on this machine or on a simulated platform, and reads its report.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "codelets/common/child_process.hpp"
#include "codelets/simulated/platform.hpp"
#include "policies/starpu/machine.hpp"

namespace apportion {

/// One run of the application.
struct RunRequest {
    std::string policy;
    bool equal_blocks = false;             ///< by a scheduler of StarPU: the load is cut into equal blocks beforehand
    std::optional<std::int64_t> blocks{};  ///< how many; nothing: the default
    std::int64_t initial_block = 0;        ///< units of a policy's first blocks; 0: the default
    int repetition = 0;
};

struct RunResult {
    double makespan_s = 0;
    nlohmann::json size;    ///< as the application understands it
    nlohmann::json report;  ///< of the load engine
};

class AppRunner {
  public:
    /// Finds the application. `platform` nothing: on this machine. Throws UserError, PlatformError.
    AppRunner(const std::string& app, const std::string& size, std::optional<simulated::Platform> platform,
              bool with_trace);

    /// May be called from several threads. Throws UserError with what the application complained about.
    RunResult run(const RunRequest& request) const;

    /// For all runs from now on.
    void set_environment(const std::string& name, const std::string& value) { environment_.push_back({name, value}); }

    /// The machine that the runs are on, as profiles call it.
    Machine machine() const;

    const std::optional<simulated::Platform>& platform() const { return platform_; }

  private:
    std::string app_;
    std::string size_;
    std::optional<simulated::Platform> platform_;
    std::filesystem::path program_;
    std::vector<EnvironmentChange> environment_;
};

}  // namespace apportion
