// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion explain`: what a report says about a run, in sentences and a table.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "models/io/nearest_name.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/explanation.hpp"
#include "tools/apportion/run_report.hpp"
#include "tools/apportion/text_table.hpp"

namespace apportion {

namespace {

struct ExplainOptions {
    std::string file, load, policy;
    int run = 0;  ///< 0: the last of the largest under each policy
    bool json = false;
};

/// All runs of a load in a line.
std::string overview(const std::vector<LoadRuns>& loads) {
    TextTable table({"load", "policy", ">units", ">runs", ">first", ">last", ">together"});
    for (const LoadRuns& load : loads) {
        table.add({load.name, load.last().policy, std::to_string(load.largest().units),
                   std::to_string(load.reports.size()), seconds_text(load.reports.front()->makespan_s),
                   seconds_text(load.last().makespan_s), seconds_text(load.seconds())});
    }
    return table.text();
}

/// Of the reports, those whose text is the one asked for.
void keep(std::vector<RunReport>& reports, std::string RunReport::*text, const std::string& asked, const char* what,
          const std::string& file) {
    if (asked.empty()) return;
    std::vector<std::string> names;
    for (const RunReport& report : reports)
        if (std::ranges::find(names, report.*text) == names.end()) names.push_back(report.*text);
    std::erase_if(reports, [&](const RunReport& report) { return report.*text != asked; });
    if (reports.empty())
        throw UserError("--{} {}: {} has no such {}{}; it has {}", what, asked, file, what, did_you_mean(asked, names),
                        fmt::join(names, ", "));
}

/// The last of the largest runs of each load under each policy, or the K-th one of each load.
std::vector<const RunReport*> chosen_runs(const std::vector<RunReport>& reports, const std::vector<LoadRuns>& loads,
                                          const ExplainOptions& options) {
    const int run = options.run;
    std::vector<const RunReport*> chosen;
    std::set<std::string> seen;
    for (const LoadRuns& load : loads) {
        if (run == 0) chosen.push_back(&load.largest());
        if (run == 0 || !seen.insert(load.name).second) continue;
        std::vector<const RunReport*> all;
        for (const RunReport& report : reports)
            if (report.load == load.name) all.push_back(&report);
        if (run > std::ssize(all))
            throw UserError("--run {}: the file has {} of load {}{}", run, counted(all.size(), "run"),
                            in_quotes(load.name), options.policy.empty() ? "" : " under " + options.policy);
        chosen.push_back(all[static_cast<std::size_t>(run - 1)]);
    }
    return chosen;
}

int explain_command(const ExplainOptions& options) {
    std::vector<RunReport> reports = read_reports(options.file);
    keep(reports, &RunReport::load, options.load, "load", options.file);
    keep(reports, &RunReport::policy, options.policy, "policy", options.file);
    const std::vector<LoadRuns> loads = loads_of(reports);
    const std::vector<const RunReport*> runs = chosen_runs(reports, loads, options);
    if (options.json) {
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        for (const RunReport* run : runs) list.push_back(explanation_json(*run));
        std::cout << json_text(list);
        return 0;
    }
    if (reports.size() > 1) std::cout << overview(loads) << '\n';
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
    sub->add_option("--policy", options->policy, "only runs under this policy")->type_name("NAME");
    sub->add_option("--run", options->run,
                    "the K-th of these runs of each load (default: the last of the largest under each policy)")
        ->check(CLI::Range(1, 1'000'000'000))
        ->type_name("K");
    sub->add_flag("--json", options->json, "print a JSON array with an object for each run");
    sub->callback([options, &run] { run = [options] { return explain_command(*options); }; });
}

}  // namespace apportion
