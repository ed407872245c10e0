// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What every command line of Apportion refuses: an empty value, as an unset variable of a script leaves it. It is no
// way to leave an option out.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace apportion {

/// Of any option that was added before, also to subcommands.
inline void refuse_empty_values(CLI::App& app) {
    for (CLI::Option* option : app.get_options([](CLI::Option*) { return true; }))
        option->check([](const std::string& value) -> std::string {
            return value.empty() ? "its value is empty; give one, or leave the option out" : "";
        });
    for (CLI::App* part : app.get_subcommands({})) refuse_empty_values(*part);
}

}  // namespace apportion
