// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion trace`: the blocks of reports as a trace that viewers open.
//
// The format: "Trace Event Format", Google, 2016. Times are microseconds. Processors are threads, blocks are their
// slices, the way of data to a processor and home are asynchronous slices, and decisions are instants.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "models/io/files.hpp"
#include "models/io/text.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/run_report.hpp"
#include "tools/apportion/text_table.hpp"

namespace apportion {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kLoads = 0;  ///< the thread of loads and decisions; processors follow

std::string shares_text(const ReportedDistribution& plan, const RunReport& report) {
    std::string text;
    for (std::size_t p = 0; p < std::min(plan.shares.size(), report.processors.size()); ++p)
        if (plan.shares[p])
            text += fmt::format("{}{}: {:g}", text.empty() ? "" : ", ", report.processors[p].name, *plan.shares[p]);
    return text;
}

/// The runs of a file of reports one after the other on one axis of time. Reports tell times since their own
/// submission only, so what a program did between its loads takes no time here.
class Trace {
  public:
    Trace() {
        add("process_name", "M", kLoads, {{"args", {{"name", "Apportion"}}}});
        add("thread_name", "M", kLoads, {{"args", {{"name", "loads"}}}});
    }

    /// Throws UserError: it has no blocks.
    void add_run(const RunReport& report) {
        if (report.trace.empty() && report.blocks > 0)
            throw UserError(
                "the report of load '{}', run {}, has no blocks; let the program run with APPORTION_TRACE=1",
                report.load, report.run);
        add(fmt::format("{} under {}, run {}", report.load, report.policy, report.run), "X", kLoads,
            {{"cat", "load"}, {"ts", us(0)}, {"dur", report.makespan_s * 1e6}});
        for (const ReportedDistribution& plan : report.distributions) add_decision(plan, report);
        double last_s = std::max(report.makespan_s, add_blocks(report, ""));
        // A node's clock begins when it is told of the run, at about the same time.
        for (std::size_t node = 0; node < std::min(report.nodes.size(), report.processors.size()); ++node)
            last_s = std::max(last_s, add_blocks(report.nodes[node], report.processors[node].name + ", "));
        begin_s_ += last_s;
    }

    std::string text() const { return json_text(Json{{"displayTimeUnit", "ms"}, {"traceEvents", events_}}); }

  private:
    double us(double run_s) const { return (begin_s_ + run_s) * 1e6; }

    void add(const std::string& name, const char* phase, int thread, const Json& fields) {
        Json& event = events_.emplace_back(Json{{"name", name}, {"ph", phase}, {"pid", 1}, {"tid", thread}});
        event.update(fields);
    }

    void add_decision(const ReportedDistribution& plan, const RunReport& report) {
        Json args{{"shares", shares_text(plan, report)}};
        if (plan.predicted_end_s) args["predicted end"] = fmt::format("{:.6g} s", begin_s_ + *plan.predicted_end_s);
        add(plan.reason, "i", kLoads, {{"cat", "decision"}, {"s", "p"}, {"ts", us(plan.at_s)}, {"args", args}});
    }

    /// Seconds since the run's begin when the last of them was home. `node`: what stands before its processors' names.
    double add_blocks(const RunReport& report, const std::string& node) {
        double last_s = 0;
        std::vector<int> threads;
        for (const ReportedProcessor& processor : report.processors) threads.push_back(thread(node + processor.name));
        for (const ReportedBlock& block : report.trace) {
            const int own = threads[block.processor];
            // A block that was not waited for has no end: its times are 0.
            const double start_s = std::max(block.given_s, block.start_s), end_s = std::max(start_s, block.end_s),
                         home_s = std::max(end_s, block.home_s);
            add(fmt::format("{} from {}", counted(block.units, "unit"), block.first), "X", own,
                {{"cat", block.given_back ? "copy" : "block"},
                 {"ts", us(start_s)},
                 {"dur", (end_s - start_s) * 1e6},
                 {"args",
                  {{"load", report.load},
                   {"first", block.first},
                   {"units", block.units},
                   {"counts", !block.given_back}}}});
            add_travel("to the processor", own, fmt::format("in{}", blocks_), block.given_s, start_s);
            add_travel("home", own, fmt::format("out{}", blocks_), end_s, home_s);
            ++blocks_;
            last_s = std::max(last_s, home_s);
        }
        return last_s;
    }

    /// A pair of events: slices that may overlap with others of their thread.
    void add_travel(const char* name, int own, const std::string& id, double from_s, double to_s) {
        if (to_s <= from_s) return;
        add(name, "b", own, {{"cat", "data"}, {"id", id}, {"ts", us(from_s)}});
        add(name, "e", own, {{"cat", "data"}, {"id", id}, {"ts", us(to_s)}});
    }

    int thread(const std::string& name) {
        const auto found = std::ranges::find(processors_, name);
        const int own = static_cast<int>(found - processors_.begin()) + 1;
        if (found == processors_.end()) {
            processors_.push_back(name);
            add("thread_name", "M", own, {{"args", {{"name", name}}}});
        }
        return own;
    }

    Json events_ = Json::array();
    std::vector<std::string> processors_{};
    std::size_t blocks_ = 0;
    double begin_s_ = 0;
};

struct TraceOptions {
    std::string file, out;
};

int trace_command(const TraceOptions& options) {
    refuse_overwriting(options.file, options.out);
    Trace trace;
    for (const RunReport& report : read_reports(options.file)) trace.add_run(report);
    if (options.out.empty())
        std::cout << trace.text();
    else
        replace_file(options.out, [&](std::ostream& out) { out << trace.text(); });
    return 0;
}

}  // namespace

void add_trace(CLI::App& app, std::function<int()>& run) {
    CLI::App* sub = app.add_subcommand("trace", "Convert the blocks of a report for viewers of traces");
    auto options = std::make_shared<TraceOptions>();
    sub->footer(
        "In the Trace Event Format, for Perfetto (ui.perfetto.dev) and chrome://tracing. The program that reports has "
        "to run with APPORTION_TRACE=1.");
    sub->add_option("report", options->file, "file of reports; -: standard input")->required()->type_name("FILE");
    sub->add_option("--out", options->out, "file to write (default: standard output)")->type_name("FILE");
    sub->callback([options, &run] { run = [options] { return trace_command(*options); }; });
}

}  // namespace apportion
