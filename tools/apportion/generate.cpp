// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion generate`: what is installed beside the command. No user needs it, so that --help does not show it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "tools/apportion/command.hpp"
#include "tools/apportion/manual.hpp"

namespace apportion {

namespace {

const CLI::App& command_named(const CLI::App& app, const std::string& name) {
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        if (command->get_name() == name) return *command;
    throw UserError(fmt::format("--man {}: there is no such command", name));
}

}  // namespace

void add_generate(CLI::App& app, std::function<int()>& run) {
    CLI::App* sub = app.add_subcommand("generate", "Print a man page or the completion for bash");
    sub->group("");
    auto man = std::make_shared<std::string>();
    auto bash = std::make_shared<bool>(false);
    auto* page = sub->add_option("--man", *man, "page of this command, or of apportion")->type_name("COMMAND");
    sub->add_flag("--bash", *bash, "completion for bash")->excludes(page);
    sub->callback([man, bash, &app, &run] {
        run = [man, bash, &app] {
            if (*bash)
                std::cout << bash_completion(app);
            else if (man->empty())
                throw UserError("give --man COMMAND or --bash");
            else if (*man == app.get_name())
                std::cout << man_page(app);
            else
                std::cout << man_page(command_named(app, *man));
            return 0;
        };
    });
}

}  // namespace apportion
