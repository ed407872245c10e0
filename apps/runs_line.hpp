// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One line on a terminal while a load runs many times: how many runs are done, and how long the others will take at
// most. Writes nothing where standard error is no terminal.
#pragma once

#include <chrono>

namespace apportion {

class RunsLine {
  public:
    /// `most`: runs there will be at most.
    explicit RunsLine(int most);
    ~RunsLine();  ///< takes the line away
    RunsLine(const RunsLine&) = delete;
    RunsLine& operator=(const RunsLine&) = delete;

    void done();  ///< one more run

  private:
    using Clock = std::chrono::steady_clock;

    int most_, done_ = 0;
    bool shown_;
    Clock::time_point begin_ = Clock::now(), last_{};
};

}  // namespace apportion
