// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Workers whose tasks compute for nobody: others took their block over, or it was given up. What such a worker is given
// next would wait behind that task, so that no load of the process gives it anything until the task has ended.
#pragma once

#include <memory>
#include <vector>

#include "policies/starpu/watch.hpp"

namespace apportion {

/// Workers are occupied as long as one of these names them.
class OccupiedWorkers {
  public:
    explicit OccupiedWorkers(const std::vector<int>& ids);
    /// Those that asked look again.
    ~OccupiedWorkers();
    OccupiedWorkers(const OccupiedWorkers&) = delete;
    OccupiedWorkers& operator=(const OccupiedWorkers&) = delete;

    /// Whether one of these workers is; then `asking` looks when that may have changed.
    static bool any(const std::vector<int>& ids, const std::weak_ptr<Watched>& asking);

  private:
    const std::vector<int>& ids_;  ///< of the load, which outlives its tasks
};

}  // namespace apportion
