// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Man pages and shell completion, from the parser itself, so that they know every option.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace apportion {

/// The page of a subcommand, or of `apportion` itself, for man(1).
std::string man_page(const CLI::App& app);

/// For bash; zsh takes it after `bashcompinit`.
std::string bash_completion(const CLI::App& root);

/// " (did you mean --policies?)" for an option that the command does not have; or nothing.
std::string nearest_option(const CLI::App& app, const std::string& option);

}  // namespace apportion
