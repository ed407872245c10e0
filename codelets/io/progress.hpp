// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The one line on a terminal while programs, loads or kernels run: a bar, what runs and since when, and how long all of
// them will take at most. It goes on while one takes long, and is taken away at the end. Writes nothing where standard
// error is no terminal.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <mutex>
#include <string>
#include <thread>

namespace apportion {

class ProgressLine {
  public:
    /// `wanted`: false for none. `limit_s`: after that time no more runs begin.
    explicit ProgressLine(std::string command, bool wanted = true,
                          double limit_s = std::numeric_limits<double>::infinity());
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void expect(std::size_t runs);  ///< at most, with those that are done
    void begin(const std::string& what);
    void done();
    void say(const std::string& sentence);  ///< on standard error, terminal or not
    double elapsed_s() const;

  private:
    using Clock = std::chrono::steady_clock;

    void tick();
    void show();

    std::string command_, what_;
    double limit_s_;
    bool shown_;
    std::size_t runs_ = 0, done_ = 0;
    Clock::time_point begin_ = Clock::now(), begun_ = begin_, written_{};
    bool ending_ = false;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::thread thread_;
};

/// "[####......] 8/20  12 s left  512 units"; cost of the runs to come as those that are done. Cut to so many columns
/// (0: any number), of which the bar takes a quarter at most, so that numbers and time are not cut off.
std::string progress_text(std::size_t done, std::size_t runs, double elapsed_s, const std::string& activity,
                          std::size_t columns = 0);

}  // namespace apportion
