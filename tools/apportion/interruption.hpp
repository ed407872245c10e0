// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Ctrl-C, and an end by the batch system or with the terminal, for commands that run other programs: those are ended,
// and what is temporary is removed.
#pragma once

#include <csignal>
#include <thread>

namespace apportion {

/// While it lives, SIGINT, SIGTERM and SIGHUP end all children, so that run_child() throws Interrupted and destructors
/// clean up; a second signal, or some seconds, kill them; one more ends this process as it is. Signals that were
/// ignored before stay so, as nohup wishes. One at a time, to be made before anything temporary.
class EndChildrenOnSignal {
  public:
    /// Throws std::runtime_error.
    EndChildrenOnSignal();
    ~EndChildrenOnSignal();
    EndChildrenOnSignal(const EndChildrenOnSignal&) = delete;
    EndChildrenOnSignal& operator=(const EndChildrenOnSignal&) = delete;

  private:
    static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

    void follow_signals() const;

    struct sigaction before_[3];
    int signals_ = -1;  ///< reading end of the pipe that the handler writes each signal's number to; 0: the end
    std::thread thread_;
};

}  // namespace apportion
