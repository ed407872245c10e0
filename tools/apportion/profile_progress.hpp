// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One line on a terminal that shows how far a measurement is: a bar, the points, the time that is left. Writes nothing
// where standard error is no terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace apportion {

class ProgressLine {
  public:
    /// `shown`: whether to write at all.
    ProgressLine(std::size_t points, bool shown);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void point_done() { ++done_; }
    void update(const std::string& activity);  ///< at most ten times a second
    void clear();                              ///< before something else is written

  private:
    using Clock = std::chrono::steady_clock;

    std::size_t points_;
    std::size_t done_ = 0;
    bool shown_;
    bool visible_ = false;
    Clock::time_point begin_ = Clock::now();
    Clock::time_point last_{};
};

/// "[####......] 8/20  12 s left  512 units"; cost of the points to come as those that are done.
std::string progress_text(std::size_t done, std::size_t points, double elapsed_s, const std::string& activity);

/// Whether standard error is a terminal.
bool on_terminal();

}  // namespace apportion
