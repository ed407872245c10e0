// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The format: "Trace Event Format", Google, 2016. Times are microseconds.
#include <fmt/format.h>

#include "tools/apportion/text_table.hpp"
#include "tools/apportion/timeline.hpp"

namespace apportion {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kProcess = 1;
constexpr int kLoads = 0;  ///< the thread of loads and decisions; processors follow

double us(double seconds) { return seconds * 1e6; }

Json thread_name(int thread, const std::string& name) {
    return {{"name", "thread_name"}, {"ph", "M"}, {"pid", kProcess}, {"tid", thread}, {"args", {{"name", name}}}};
}

std::string units_text(const TimelineBlock& block) { return fmt::format("{} units from {}", block.units, block.first); }

/// A pair of events: slices that may overlap with others of their thread.
void add_travel(Json& events, const char* name, int thread, const std::string& id, double from_s, double to_s) {
    if (to_s <= from_s) return;
    for (const bool begin : {true, false})
        events.push_back({{"name", name},
                          {"cat", "data"},
                          {"ph", begin ? "b" : "e"},
                          {"id", id},
                          {"ts", us(begin ? from_s : to_s)},
                          {"pid", kProcess},
                          {"tid", thread}});
}

}  // namespace

std::string chrome_trace(const Timeline& timeline) {
    Json events = Json::array();
    events.push_back(
        {{"name", "process_name"}, {"ph", "M"}, {"pid", kProcess}, {"tid", kLoads}, {"args", {{"name", "Apportion"}}}});
    events.push_back(thread_name(kLoads, "loads"));
    for (std::size_t p = 0; p < timeline.processors.size(); ++p)
        events.push_back(thread_name(static_cast<int>(p) + 1, timeline.processors[p]));
    for (const TimelineRun& run : timeline.runs)
        events.push_back({{"name", fmt::format("{} under {}, run {}", run.load, run.policy, run.run)},
                          {"cat", "load"},
                          {"ph", "X"},
                          {"ts", us(run.begin_s)},
                          {"dur", us(run.end_s - run.begin_s)},
                          {"pid", kProcess},
                          {"tid", kLoads}});
    for (const TimelineDecision& decision : timeline.decisions) {
        Json args = Json::object();
        args["shares"] = decision.shares;
        if (decision.predicted_s >= 0) args["predicted end"] = fmt::format("{:.6g} s", decision.predicted_s);
        events.push_back({{"name", decision.reason},
                          {"cat", "decision"},
                          {"ph", "i"},
                          {"s", "p"},
                          {"ts", us(decision.at_s)},
                          {"pid", kProcess},
                          {"tid", kLoads},
                          {"args", std::move(args)}});
    }
    for (std::size_t b = 0; b < timeline.blocks.size(); ++b) {
        const TimelineBlock& block = timeline.blocks[b];
        const int thread = static_cast<int>(block.processor) + 1;
        events.push_back(
            {{"name", units_text(block)},
             {"cat", block.given_back ? "copy" : "block"},
             {"ph", "X"},
             {"ts", us(block.start_s)},
             {"dur", us(block.end_s - block.start_s)},
             {"pid", kProcess},
             {"tid", thread},
             {"args",
              {{"load", block.load}, {"first", block.first}, {"units", block.units}, {"counts", !block.given_back}}}});
        add_travel(events, "to the processor", thread, fmt::format("in{}", b), block.given_s, block.start_s);
        add_travel(events, "home", thread, fmt::format("out{}", b), block.end_s, block.home_s);
    }
    const Json trace{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
    return json_text(trace);
}

}  // namespace apportion
