// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs a program to its end and returns what it wrote.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace apportion {

/// Changes to this process's environment for a child: a value, or nothing to remove the variable.
struct EnvironmentChange {
    std::string name;
    std::string value;
    bool remove = false;
};

struct ChildResult {
    int status = 0;  ///< exit status, or 128 + the signal that ended it
    std::string output;
    std::string errors;
};

/// The program is not there, or may not be run.
class CannotRun : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// end_children() was called: the catcher removes what is temporary and ends with `status`.
class Interrupted : public std::runtime_error {
  public:
    explicit Interrupted(int signal);
    int signal() const { return signal_; }
    int status() const { return 128 + signal_; }

  private:
    int signal_;
};

/// Runs command[0] (looked for in PATH when it has no '/') with the arguments behind it; its standard input is
/// `input`. May be called from several threads. Throws CannotRun, Interrupted, and std::runtime_error without room for
/// temporary files.
ChildResult run_child(const std::vector<std::string>& command, const std::vector<EnvironmentChange>& environment = {},
                      const std::string& input = {});

/// Sends `signal` to all children that run and to theirs. From now on run_child() throws Interrupted, also where it
/// waits; `reason` is the signal that this process got.
void end_children(int signal, int reason);

}  // namespace apportion
