// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times of one kernel on one worker, measured at a few sizes and interpolated between them: linear between neighbours,
// proportional below the smallest size, along the last segment above the largest. For the performance model that
// StarPU's own schedulers see; Apportion's policies use models/ instead.
#pragma once

#include <vector>

namespace apportion {

class MeasuredTimes {
  public:
    /// Adds a measurement, work > 0 larger than all before.
    void add(double work, double seconds);

    /// Seconds for that work; not-a-number when nothing was measured.
    double seconds(double work) const;

  private:
    struct Point {
        double work;
        double seconds;
    };
    std::vector<Point> points_;
};

}  // namespace apportion
