// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The machine that something was measured on, and how busy it was.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>

namespace apportion {

// How busy other programs keep the machine, before this one begins, and while it and its children run.

/// Programs that ran or waited for a CPU during the last minute, on average, for each CPU; 0 where the system does not
/// tell, and where time is virtual. Near 0 on a machine that is free for measurements.
double load_per_cpu();

class MachineLoad {
  public:
    MachineLoad();

    /// CPUs that other programs kept busy on average since the construction; 0 where the system does not tell.
    double cpus_of_others() const;

  private:
    double busy_s_, own_s_;  ///< of all programs, and of this one with the children that ended
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Where and with what something was measured.

/// date, host, processor, versions, and the environment variables that change what programs do.
nlohmann::ordered_json provenance_json();

}  // namespace apportion
