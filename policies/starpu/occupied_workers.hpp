// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Workers whose tasks compute for nobody: others took their block over, or it was given up. What such a worker is given
// next would wait behind that task, so that no load of the process gives it anything until the task has ended. That may
// be soon, as of what was computed again in vain, or nobody knows when.
#pragma once

#include <memory>
#include <vector>

#include "policies/starpu/watch.hpp"

namespace apportion {

/// Workers are occupied as long as one of these names them.
class OccupiedWorkers {
  public:
    OccupiedWorkers(const std::vector<int>& ids, bool soon_free);
    /// Those that asked look again.
    ~OccupiedWorkers();
    OccupiedWorkers(const OccupiedWorkers&) = delete;
    OccupiedWorkers& operator=(const OccupiedWorkers&) = delete;

    enum class State { free, soon_free, occupied };
    /// Of these workers together; where they are not free `asking` looks when that may have changed.
    static State of(const std::vector<int>& ids, const std::weak_ptr<Watched>& asking);

  private:
    bool soon_free_;
    const std::vector<int>& ids_;  ///< of the load, which outlives its tasks
};

}  // namespace apportion
