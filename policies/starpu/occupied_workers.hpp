// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Workers whose tasks compute for nobody: others took their block over, or it was given up. What such a worker is given
// next would wait behind that task, so that no load of the process gives it anything until the task has ended. That is
// thought to be soon as long as the task is not late; then nobody knows when, and what waits there is for others.
#pragma once

#include <memory>
#include <vector>

#include "policies/starpu/watch.hpp"

namespace apportion {

/// Workers are occupied as long as one of these names them.
class OccupiedWorkers {
  public:
    /// `late_at_us`: from then on, by running_us(), they are not thought to be free soon.
    OccupiedWorkers(const std::vector<int>& ids, double late_at_us);
    /// Those that asked look again.
    ~OccupiedWorkers();
    OccupiedWorkers(const OccupiedWorkers&) = delete;
    OccupiedWorkers& operator=(const OccupiedWorkers&) = delete;

    enum class State { free, soon_free, occupied };
    /// Of these workers together; where they are not free `asking` looks when that may have changed.
    static State of(const std::vector<int>& ids, const std::weak_ptr<Watched>& asking);

  private:
    const std::vector<int>& ids_;  ///< of the load, which outlives its tasks
    double late_at_us_;
};

}  // namespace apportion
