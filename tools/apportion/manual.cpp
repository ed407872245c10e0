// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/manual.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include "models/io/nearest_name.hpp"

namespace apportion {

namespace {

/// Text that man(1) shows as it is.
std::string for_man(const std::string& text) {
    std::string out;
    bool at_line_begin = true;
    for (const char c : text) {
        if (at_line_begin && (c == '.' || c == '\'')) out += "\\&";
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
        at_line_begin = c == '\n';
    }
    return out;
}

std::string page_name(const CLI::App& app) { return app.get_parent() ? "apportion-" + app.get_name() : app.get_name(); }

/// Without the choices that CLI11 adds.
std::string type_name(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    return type.substr(0, type.find(':'));
}

std::string option_page(const CLI::Option& option) {
    std::string head = option.get_positional() ? option.get_name(true) : option.get_name(false, true);
    std::ranges::replace(head, ',', ' ');
    std::string text = fmt::format(".TP\n\\fB{}\\fR", for_man(head));
    if (const std::string type = type_name(option); !type.empty()) text += fmt::format(" \\fI{}\\fR", for_man(type));
    text += "\n" + for_man(option.get_description());
    if (!option.get_default_str().empty()) text += fmt::format(" (default: {})", for_man(option.get_default_str()));
    if (option.get_required()) text += " (required)";
    return text + "\n";
}

/// Shown ones, in their order.
std::vector<const CLI::App*> subcommands(const CLI::App& app) {
    std::vector<const CLI::App*> found;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
        if (!sub->get_group().empty()) found.push_back(sub);
    return found;
}

std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    }
    return names;
}

/// "serial|parallel" is a choice, "NAME|FILE" is none.
std::string choices(const CLI::Option& option) {
    std::string type = type_name(option);
    const bool words = type.find('|') != type.npos && std::ranges::all_of(type, [](unsigned char c) {
                           return std::islower(c) || std::isdigit(c) || c == '-' || c == '|';
                       });
    std::ranges::replace(type, '|', ' ');
    return words ? type : "";
}

std::string completion_case(const CLI::App& app) {
    std::string text = fmt::format("        {})\n            options=\"{}\"\n            case $before in\n",
                                   app.get_name(), fmt::join(option_names(app), " "));
    for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; }))
        if (const std::string words = choices(*option); !words.empty() && !option->get_lnames().empty())
            text +=
                fmt::format("                --{}) options=\"{}\"; choice=1 ;;\n", option->get_lnames().front(), words);
    return text + "            esac\n            ;;\n";
}

}  // namespace

std::string man_page(const CLI::App& app) {
    const std::string name = page_name(app);
    std::string title = name;
    std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
    std::string text =
        fmt::format(".TH {} 1 \"\" \"Apportion {}\" \"Apportion\"\n.ad l\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n", title,
                    APPORTION_VERSION, for_man(name), for_man(app.get_description()));
    text += fmt::format(".B {}\n[\\fIOPTIONS\\fR]", app.get_parent() ? "apportion " + app.get_name() : "apportion");
    std::string options, positionals;
    for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
        if (option->get_positional()) text += fmt::format(" \\fI{}\\fR", for_man(option->get_type_name()));
        (option->get_positional() ? positionals : options) += option_page(*option);
    }
    const auto commands = subcommands(app);
    if (!commands.empty()) text += " \\fICOMMAND\\fR";
    text += "\n";
    if (!app.get_footer().empty()) text += ".SH DESCRIPTION\n.nf\n" + for_man(app.get_footer()) + "\n.fi\n";
    if (!commands.empty()) text += ".SH COMMANDS\n";
    for (const CLI::App* sub : commands)
        text += fmt::format(".TP\n\\fBapportion\\-{}\\fR(1)\n{}\n", for_man(sub->get_name()),
                            for_man(sub->get_description()));
    if (!positionals.empty()) text += ".SH ARGUMENTS\n" + positionals;
    text += ".SH OPTIONS\n" + options;
    text +=
        ".SH EXIT STATUS\n0: fine; 1: something ran and failed; 2: command line, files or environment have to be "
        "changed; 128 + N: ended by signal N.\n";
    if (app.get_parent()) text += ".SH SEE ALSO\n\\fBapportion\\fR(1)\n";
    return text;
}

std::string bash_completion(const CLI::App& root) {
    std::vector<std::string> names;
    std::string cases;
    for (const CLI::App* sub : subcommands(root)) {
        names.push_back(sub->get_name());
        cases += completion_case(*sub);
    }
    return fmt::format(R"(# Completion of the command apportion for bash.
_apportion() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} options="" choice=""
    if [ "$COMP_CWORD" = 1 ]; then
        COMPREPLY=($(compgen -W "{} {}" -- "$word"))
        return
    fi
    case ${{COMP_WORDS[1]}} in
{}    esac
    if [ -n "$choice" ] || [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
    fi
}}
complete -o default -F _apportion apportion
)",
                       fmt::join(names, " "), fmt::join(option_names(root), " "), cases);
}

std::string nearest_option(const CLI::App& app, const std::string& option) {
    return did_you_mean(option.substr(0, option.find('=')), option_names(app));
}

}  // namespace apportion
