// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/io/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "codelets/io/terminal.hpp"
#include "models/io/shown.hpp"

namespace apportion {

namespace {

constexpr const char* kClearLine = "\r\033[K";
constexpr auto kInterval = std::chrono::milliseconds(200);

double seconds_since(std::chrono::steady_clock::time_point moment) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - moment).count();
}

std::string readable(double seconds) {
    if (seconds < 100) return fmt::format("{:.0f} s", seconds);
    if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
    return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

std::string progress_text(std::size_t done, std::size_t runs, double elapsed_s, const std::string& activity,
                          std::size_t columns) {
    constexpr std::size_t kWidest = 30;
    const std::size_t width = columns > 0 ? std::min(kWidest, columns / 4) : kWidest;
    const std::size_t filled = runs > 0 ? width * done / runs : width;
    std::string text = fmt::format("[{:#<{}}{:.<{}}] {}/{}", "", filled, "", width - filled, done, runs);
    if (done > 0 && done < runs)
        text += fmt::format("  {} left",
                            readable(elapsed_s * static_cast<double>(runs - done) / static_cast<double>(done)));
    return cut_to(activity.empty() ? text : text + "  " + shown(activity), columns);
}

ProgressLine::ProgressLine(std::string command, bool wanted, double limit_s)
    : command_(std::move(command)), limit_s_(limit_s), shown_(wanted && isatty(STDERR_FILENO) == 1) {
    if (shown_) thread_ = std::thread([this] { tick(); });
}

ProgressLine::~ProgressLine() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    if (!thread_.joinable()) return;
    thread_.join();
    std::cerr << kClearLine << std::flush;
}

void ProgressLine::expect(std::size_t runs) {
    const std::lock_guard lock(mutex_);
    runs_ = runs;
}

void ProgressLine::begin(const std::string& what) {
    const std::lock_guard lock(mutex_);
    what_ = what;
    begun_ = Clock::now();
}

void ProgressLine::done() {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (shown_ && Clock::now() - written_ >= kInterval) show();
}

void ProgressLine::say(const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    std::cerr << (shown_ ? kClearLine : "") << sentence << '\n';
}

double ProgressLine::elapsed_s() const { return seconds_since(begin_); }

void ProgressLine::tick() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kInterval, [this] { return ending_; })) show();
}

void ProgressLine::show() {
    if (what_.empty()) return;
    const double elapsed = elapsed_s();
    // Runs for which there is time.
    const double fitting = done_ > 0 ? static_cast<double>(done_) * limit_s_ / elapsed : 0;
    const std::size_t runs = fitting > 0 && fitting < static_cast<double>(runs_)
                                 ? std::max(static_cast<std::size_t>(fitting), done_)
                                 : runs_;
    std::string text = command_ + ": " + shown(what_);
    if (const double since = seconds_since(begun_); since > 1) text += fmt::format(", {:.0f} s", since);
    const std::size_t columns = terminal_columns(STDERR_FILENO);
    written_ = Clock::now();
    std::cerr << kClearLine << progress_text(done_, runs, elapsed, text, columns > 0 ? columns - 1 : 0) << std::flush;
}

}  // namespace apportion
