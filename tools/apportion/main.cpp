// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The command `apportion`. Exit codes: 0 fine, 1 something failed, 2 the command line makes no sense.
#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <iostream>

#include "codelets/text_file.hpp"
#include "tools/apportion/command.hpp"

int main(int argc, char** argv) {
    CLI::App app("Sizes of the blocks of divisible loads: what each policy makes of them, on this machine or simulated",
                 "apportion");
    app.set_version_flag("--version", "apportion " APPORTION_VERSION);
    app.require_subcommand(1);
    std::function<int()> run;
    for (const apportion::AddCommand add : apportion::commands_of_apportion()) add(app, run);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        std::cerr << "apportion: " << error.what() << "; see apportion --help\n";
        return 2;
    }
    try {
        const int status = run();
        apportion::flush_standard_output();
        return status;
    } catch (const std::exception& error) {
        std::cerr << "apportion: " << error.what() << '\n';
        return 1;
    }
}
