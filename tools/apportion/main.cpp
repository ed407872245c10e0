// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The command `apportion`. Exit codes, as those of the applications: 0 fine, 1 something failed, 2 the user has to
// change something (command line, files, environment), 128 + N ended by signal N. Errors are one sentence on standard
// error.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <functional>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "codelets/common/child_process.hpp"
#include "codelets/io/command_line.hpp"
#include "models/io/nearest_name.hpp"
#include "models/io/shown.hpp"
#include "models/io/text_file.hpp"
#include "tools/apportion/command.hpp"

namespace {

constexpr int kFailed = 1, kUserHasToChange = 2;

int complain(const std::string& sentence, int status) {
    std::cerr << "apportion: " << apportion::shown(sentence) << '\n';
    return status;
}

/// Words that no command knows get the nearest one as advice.
std::string sentence_of(const CLI::ParseError& error, const CLI::App& app, int argc, char** argv) {
    const std::string first = argc > 1 ? argv[1] : "";
    const CLI::App* chosen = nullptr;
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) {
        if (command->get_name() == first) chosen = command;
        names.push_back(command->get_name());
    }
    if (chosen || first.starts_with('-'))
        return fmt::format("{}{}; see apportion{} --help", error.what(),
                           apportion::nearest_option(error, chosen ? *chosen : app, argc, argv),
                           chosen ? " " + first : "");
    const std::string problem = first.empty() ? "a command is missing"
                                              : fmt::format("there is no command {}{}", apportion::in_quotes(first),
                                                            apportion::did_you_mean(first, names));
    return fmt::format("{}; choose one of {}, or see apportion --help", problem, fmt::join(names, ", "));
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Sizes of the blocks of divisible loads: what each policy makes of them, on this machine or simulated",
                 "apportion");
    app.set_version_flag("--version", "apportion " APPORTION_VERSION);
    app.require_subcommand(1);
    std::function<int()> run;
    for (const apportion::AddCommand add : apportion::commands_of_apportion()) add(app, run);
    apportion::refuse_empty_values(app);
    const std::vector<std::string> all(argv + 1, argv + argc);
    const bool runs_program = argc > 1 && (all.front() == "compare" || all.front() == "profile");
    const auto dashes = runs_program ? std::ranges::find(all, "--") : all.end();
    if (dashes != all.end()) apportion::program_arguments().assign(dashes + 1, all.end());
    try {
        int status = 0;
        try {
            app.parse(static_cast<int>(dashes - all.begin()) + 1, argv);
            status = run();
        } catch (const CLI::Success& help) {
            status = app.exit(help);
        }
        apportion::flush_standard_output();
        return status;
    } catch (const CLI::ParseError& error) {
        return complain(sentence_of(error, app, argc, argv), kUserHasToChange);
    } catch (const apportion::UserError& error) {
        return complain(error.what(), kUserHasToChange);
    } catch (const apportion::Interrupted& error) {
        return complain(error.what(), error.status());
    } catch (const std::bad_alloc&) {
        return complain("the memory does not suffice; choose a smaller problem", kFailed);
    } catch (const std::exception& error) {
        return complain(error.what(), kFailed);
    }
}
