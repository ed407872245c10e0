// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The command `apportion`. Exit codes, as those of the applications: 0 fine, 1 something failed, 2 the user has to
// change something (command line, files, environment), 128 + N ended by signal N. Errors are one sentence on standard
// error.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <iostream>
#include <new>

#include "codelets/common/child_process.hpp"
#include "codelets/io/gnuplot.hpp"
#include "codelets/io/text_file.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "models/io/file_error.hpp"
#include "models/io/shown.hpp"
#include "tools/apportion/command.hpp"

namespace {

constexpr int kFailed = 1, kUserHasToChange = 2;

int complain(const std::string& sentence, int status) {
    std::cerr << "apportion: " << apportion::shown(sentence) << '\n';
    return status;
}

/// CLI11 only says that a subcommand is missing where the one that was given has no such name.
std::string sentence_of(const CLI::ParseError& error, const CLI::App& app, int argc, char** argv) {
    const std::string first = argc > 1 ? argv[1] : "";
    bool known = first.starts_with('-');
    std::string names;
    for (const CLI::App* command : app.get_subcommands({})) {
        known = known || command->get_name() == first;
        names += (names.empty() ? "" : ", ") + command->get_name();
    }
    if (known) return fmt::format("{}; see apportion --help", error.what());
    const std::string problem =
        first.empty() ? "a command is missing" : fmt::format("there is no command {}", apportion::in_quotes(first));
    return fmt::format("{}; choose one of {}, or see apportion --help", problem, names);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Sizes of the blocks of divisible loads: what each policy makes of them, on this machine or simulated",
                 "apportion");
    app.set_version_flag("--version", "apportion " APPORTION_VERSION);
    app.require_subcommand(1);
    std::function<int()> run;
    for (const apportion::AddCommand add : apportion::commands_of_apportion()) add(app, run);
    try {
        app.parse(argc, argv);
        const int status = run();
        apportion::flush_standard_output();
        return status;
    } catch (const CLI::Success& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        return complain(sentence_of(error, app, argc, argv), kUserHasToChange);
    } catch (const apportion::UserError& error) {
        return complain(error.what(), kUserHasToChange);
    } catch (const apportion::FileError& error) {
        return complain(error.what(), kUserHasToChange);
    } catch (const apportion::simulated::PlatformError& error) {
        return complain(error.what(), kUserHasToChange);
    } catch (const apportion::PictureError& error) {
        return complain(error.what(), kUserHasToChange);
    } catch (const apportion::Interrupted& error) {
        return complain(error.what(), error.status());
    } catch (const std::bad_alloc&) {
        return complain("the memory does not suffice; choose a smaller problem", kFailed);
    } catch (const std::exception& error) {
        return complain(error.what(), kFailed);
    }
}
