// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs a program to its end and returns what it wrote.
#pragma once

#include <string>
#include <utility>
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

/// Runs command[0] (looked for in PATH when it has no '/') with the arguments behind it; its standard input is
/// `input`. May be called from several threads. Throws std::runtime_error when the program cannot be started.
ChildResult run_child(const std::vector<std::string>& command, const std::vector<EnvironmentChange>& environment = {},
                      const std::string& input = {});

}  // namespace apportion
