// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion trace`: the blocks of reports as a trace that viewers open.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "models/io/new_file.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/run_report.hpp"
#include "tools/apportion/timeline.hpp"

namespace apportion {

namespace {

struct TraceOptions {
    std::string file, out;
};

int trace_command(const TraceOptions& options) {
    const std::string text = chrome_trace(timeline_of(read_reports(options.file)));
    if (options.out.empty())
        std::cout << text;
    else
        replace_file(options.out, [&](std::ostream& out) { out << text; });
    return 0;
}

}  // namespace

void add_trace(CLI::App& app, std::function<int()>& run) {
    CLI::App* sub = app.add_subcommand("trace", "Convert the blocks of a report for viewers of traces");
    auto options = std::make_shared<TraceOptions>();
    sub->footer(
        "In the Trace Event Format, for Perfetto (ui.perfetto.dev) and chrome://tracing. The program that reports has "
        "to "
        "run with APPORTION_TRACE=1.");
    sub->add_option("report", options->file, "file of reports; -: standard input")->required()->type_name("FILE");
    sub->add_option("--out", options->out, "file to write (default: standard output)")->type_name("FILE");
    sub->callback([options, &run] { run = [options] { return trace_command(*options); }; });
}

}  // namespace apportion
