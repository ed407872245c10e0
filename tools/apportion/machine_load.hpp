// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How busy other programs keep the machine while this one and its children run.
#pragma once

#include <chrono>

namespace apportion {

class MachineLoad {
  public:
    MachineLoad();

    /// CPUs that other programs kept busy on average since the construction; 0 where the system does not tell.
    double cpus_of_others() const;

  private:
    double busy_s_, own_s_;  ///< of all programs, and of this one with the children that ended
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace apportion
