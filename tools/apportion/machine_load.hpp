// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The machine that something was measured on, and how busy it was.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>

namespace apportion {

// How busy other programs keep the machine while this one and its children run.

class MachineLoad {
  public:
    MachineLoad();

    /// CPUs that other programs kept busy on average since the construction; 0 where the system does not tell, and
    /// where time is virtual.
    double cpus_of_others() const;

  private:
    double busy_s_, own_s_;  ///< of all programs, and of this one with the children that ended
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// A sentence without its full stop where so many CPUs of others are worth a warning; or empty.
std::string disturbance(double cpus_of_others);

// Where and with what something was measured.

/// date, host, processor, versions, and the environment variables that change what programs do.
nlohmann::ordered_json provenance_json();

}  // namespace apportion
