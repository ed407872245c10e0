// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/interruption.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "codelets/common/child_process.hpp"

namespace apportion {

namespace {

constexpr int kPatience_ms = 5000;  ///< until children that do not end are killed

/// Writing end of the pipe. A handler may do no more than write: waiting for a blocked signal instead would need all
/// threads to block it, and BLAS has threads before main().
volatile int handler_pipe = -1;

void tell(int signal) {
    const int error = errno;
    const auto number = static_cast<unsigned char>(signal);
    [[maybe_unused]] const ssize_t written = write(handler_pipe, &number, 1);
    errno = error;
}

}  // namespace

EndChildrenOnSignal::EndChildrenOnSignal() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(fmt::format("no pipe: {}", std::strerror(errno)));
    signals_ = ends[0];
    handler_pipe = ends[1];
    struct sigaction action = {};
    action.sa_handler = tell;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
        sigaction(kSignals[i], nullptr, &before_[i]);
        if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
    }
    thread_ = std::thread([this] { follow_signals(); });
}

EndChildrenOnSignal::~EndChildrenOnSignal() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    tell(0);
    thread_.join();
    close(signals_);
    close(handler_pipe);
}

void EndChildrenOnSignal::follow_signals() const {
    int reason = 0;  // the signal that came first
    bool killed = false;
    for (;;) {
        pollfd readable = {signals_, POLLIN, 0};
        const int ready = poll(&readable, 1, reason != 0 && !killed ? kPatience_ms : -1);
        unsigned char signal = 0;
        if (ready < 0) continue;
        if (ready > 0 && (read(signals_, &signal, 1) != 1 || signal == 0)) return;
        if (killed) _exit(Interrupted(reason).status());  // something here does not end
        killed = reason != 0;
        if (reason == 0) reason = signal;
        end_children(killed ? SIGKILL : SIGTERM, reason);
    }
}

}  // namespace apportion
