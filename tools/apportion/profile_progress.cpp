// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "models/io/shown.hpp"

namespace apportion {

namespace {

constexpr const char* kClearLine = "\r\033[K";

std::string readable(double seconds) {
    if (seconds < 100) return fmt::format("{:.0f} s", seconds);
    if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
    return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

std::string progress_text(std::size_t done, std::size_t points, double elapsed_s, const std::string& activity) {
    constexpr std::size_t kWidth = 30;
    const std::size_t filled = points > 0 ? kWidth * done / points : kWidth;
    std::string text = fmt::format("[{:#<{}}{:.<{}}] {}/{}", "", filled, "", kWidth - filled, done, points);
    if (done > 0 && done < points)
        text += fmt::format("  {} left",
                            readable(elapsed_s * static_cast<double>(points - done) / static_cast<double>(done)));
    return activity.empty() ? text : text + "  " + shown(activity);
}

bool on_terminal() { return isatty(STDERR_FILENO) == 1; }

ProgressLine::ProgressLine(std::size_t points, bool visible) : points_(points), shown_(visible) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::update(const std::string& activity) {
    constexpr auto kInterval = std::chrono::milliseconds(100);
    const auto now = Clock::now();
    if (!shown_ || now - last_ < kInterval) return;
    last_ = now;
    visible_ = true;
    const double elapsed_s = std::chrono::duration<double>(now - begin_).count();
    std::cerr << kClearLine << progress_text(done_, points_, elapsed_s, activity) << std::flush;
}

void ProgressLine::clear() {
    if (visible_) std::cerr << kClearLine << std::flush;
    visible_ = false;
}

}  // namespace apportion
