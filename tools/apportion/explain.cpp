// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion explain`: what a report says about a run, in sentences and a table.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "models/io/nearest_name.hpp"
#include "models/io/shown.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/explanation.hpp"
#include "tools/apportion/reports.hpp"
#include "tools/apportion/seconds_text.hpp"
#include "tools/apportion/terminal.hpp"
#include "tools/apportion/text_table.hpp"

namespace apportion {

namespace {

struct ExplainOptions {
    std::string file, load;
    int run = 0;  ///< 0: the last
    bool json = false;
};

/// All runs of a load in a line.
std::string overview(const std::vector<LoadRuns>& loads) {
    TextTable table({{"load", false},
                     {"policy", false},
                     {"units", true},
                     {"runs", true},
                     {"first", true},
                     {"last", true},
                     {"together", true}});
    for (const LoadRuns& load : loads) {
        table.add({load.name, load.last().policy, std::to_string(load.last().units),
                   std::to_string(load.reports.size()), seconds_text(load.reports.front()->makespan_s),
                   seconds_text(load.last().makespan_s), seconds_text(load.seconds())});
    }
    return table.text(terminal_columns(STDOUT_FILENO));
}

const RunReport& chosen_run(const LoadRuns& load, const ExplainOptions& options) {
    if (options.run == 0) return load.last();
    if (options.run > static_cast<int>(load.reports.size()))
        throw UserError(fmt::format("--run {}: the file has {} run{} of load {}", options.run, load.reports.size(),
                                    load.reports.size() == 1 ? "" : "s", in_quotes(load.name)));
    return *load.reports[static_cast<std::size_t>(options.run - 1)];
}

int explain_command(const ExplainOptions& options) {
    const std::vector<RunReport> reports = read_reports(options.file);
    const std::vector<LoadRuns> all = loads_of(reports);
    std::vector<const LoadRuns*> loads;
    std::vector<std::string> names;
    for (const LoadRuns& load : all) {
        names.push_back(load.name);
        if (options.load.empty() || load.name == options.load) loads.push_back(&load);
    }
    if (loads.empty())
        throw UserError(fmt::format("--load {}: {} has no such load{}; it has {}", options.load, options.file,
                                    did_you_mean(options.load, names), fmt::join(names, ", ")));
    std::vector<const RunReport*> runs;  // before anything is printed: one may not be there
    for (const LoadRuns* load : loads) runs.push_back(&chosen_run(*load, options));
    if (options.json) {
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        for (const RunReport* run : runs) list.push_back(explanation_json(*run));
        std::cout << list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
        return 0;
    }
    if (reports.size() > 1) std::cout << overview(all) << '\n';
    for (const RunReport* run : runs) std::cout << (run == runs.front() ? "" : "\n") << explanation_text(*run);
    return 0;
}

}  // namespace

void add_explain(CLI::App& app, std::function<int()>& run) {
    CLI::App* sub = app.add_subcommand("explain", "Say what a run's report means, and what to look at");
    auto options = std::make_shared<ExplainOptions>();
    sub->footer(
        "A program writes reports into the file that APPORTION_REPORT names; with APPORTION_TRACE=1 they have "
        "the blocks, and more is told.");
    sub->add_option("report", options->file, "file of reports; -: standard input")->required()->type_name("FILE");
    sub->add_option("--load", options->load, "only this load")->type_name("NAME");
    sub->add_option("--run", options->run, "its K-th run in the file (default: the last)")
        ->check(CLI::Range(1, 1'000'000'000))
        ->type_name("K");
    sub->add_flag("--json", options->json, "print a JSON array with an object for each load");
    sub->callback([options, &run] { run = [options] { return explain_command(*options); }; });
}

}  // namespace apportion
