// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A subcommand of `apportion`. To add one, write `void add_NAME(CLI::App& app, std::function<int()>& run)` in NAME.cpp
// and add NAME to the list in tools/meson.build.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/io/user_error.hpp"

namespace CLI {
class App;
}

namespace apportion {

/// Adds the subcommand to the command line; when the user chose it, `run` becomes its action. The action returns the
/// exit status and throws std::exceptions whose text is one sentence for the user.
using AddCommand = void (*)(CLI::App& app, std::function<int()>& run);

/// What stands behind "--" on the command line: a program and its arguments, which are no business of the parser.
inline std::vector<std::string>& program_arguments() {
    static std::vector<std::string> arguments;
    return arguments;
}

/// All of them, in the order of the list.
std::span<const AddCommand> commands_of_apportion();

}  // namespace apportion
