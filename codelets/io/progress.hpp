// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The one line on a terminal while programs, loads or kernels run: what runs, how many are done, and how long the
// others will take if they take as long. It is taken away at the end. Writes nothing where standard error is no
// terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

namespace apportion {

class ProgressLine {
  public:
    /// `wanted`: false for none.
    explicit ProgressLine(std::string command, bool wanted = true);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void expect(std::size_t runs);  ///< at most, with those that are done
    void begin(const std::string& what);
    void done();
    double elapsed_s() const;

  private:
    using Clock = std::chrono::steady_clock;

    const std::string command_;
    const bool shown_;
    std::size_t runs_ = 0, done_ = 0;
    Clock::time_point begin_ = Clock::now(), written_{};
    std::mutex mutex_;
};

}  // namespace apportion
