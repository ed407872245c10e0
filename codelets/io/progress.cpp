// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/io/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "codelets/io/terminal.hpp"
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

ProgressLine::ProgressLine(std::string command, bool wanted)
    : command_(std::move(command)), shown_(wanted && isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
    if (shown_) std::cerr << kClearLine << std::flush;
}

void ProgressLine::expect(std::size_t runs) {
    const std::lock_guard lock(mutex_);
    runs_ = runs;
}

void ProgressLine::begin(const std::string& what) {
    constexpr auto kInterval = std::chrono::milliseconds(200);
    const std::lock_guard lock(mutex_);
    if (!shown_ || Clock::now() - written_ < kInterval) return;
    written_ = Clock::now();
    std::string text = done_ > 0 ? fmt::format("{} of {}, ", done_, runs_) : "";
    if (done_ > 0 && done_ < runs_)
        text += fmt::format("{} left, ",
                            readable(elapsed_s() * static_cast<double>(runs_ - done_) / static_cast<double>(done_)));
    text = fmt::format("{}: {}{}", command_, text, shown(what));
    // A character more would begin another line.
    const std::size_t columns = terminal_columns(STDERR_FILENO);
    while (columns > 0 && width_of(text) >= columns) text.pop_back();
    std::cerr << kClearLine << text << std::flush;
}

void ProgressLine::done() {
    const std::lock_guard lock(mutex_);
    ++done_;
}

double ProgressLine::elapsed_s() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

}  // namespace apportion
