// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The subcommand `apportion plan`.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace apportion {

/// Adds the subcommand; when it is chosen, `run` becomes its action. The action throws FileError for what a user did
/// wrong.
void add_plan(CLI::App& app, std::function<int()>& run);

}  // namespace apportion
