// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/runs_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

namespace apportion {

RunsLine::RunsLine(int most) : most_(most), shown_(most > 1 && isatty(STDERR_FILENO) == 1) {}

RunsLine::~RunsLine() {
    if (shown_ && done_ > 0) std::cerr << "\r\033[K" << std::flush;
}

void RunsLine::done() {
    constexpr std::chrono::milliseconds kBetween{200};
    ++done_;
    const Clock::time_point now = Clock::now();
    if (!shown_ || (done_ > 1 && now - last_ < kBetween)) return;
    last_ = now;
    const double elapsed_s = std::chrono::duration<double>(now - begin_).count();
    // Fits a terminal of 40 columns.
    std::cerr << fmt::format("\r{} of {} runs, {:.0f} s left at most\033[K", done_, most_,
                             elapsed_s / done_ * (most_ - done_))
              << std::flush;
}

}  // namespace apportion
