// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The format: "Paje trace file", de Kergommeaux, Stein and Schnorr, version 1.2.5.
#include <fmt/format.h>

#include <algorithm>

#include "models/io/shown.hpp"
#include "tools/apportion/timeline.hpp"

namespace apportion {

namespace {

/// Numbers of the events, with their fields.
constexpr const char* kHeader = R"(%EventDef PajeDefineContainerType 0
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineStateType 1
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineEventType 2
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineLinkType 3
% Alias string
% Type string
% StartContainerType string
% EndContainerType string
% Name string
%EndEventDef
%EventDef PajeDefineEntityValue 4
% Alias string
% Type string
% Name string
% Color color
%EndEventDef
%EventDef PajeCreateContainer 5
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajeDestroyContainer 6
% Time date
% Type string
% Name string
%EndEventDef
%EventDef PajeSetState 7
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajeNewEvent 8
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajeStartLink 9
% Time date
% Type string
% Container string
% StartContainer string
% Value string
% Key string
%EndEventDef
%EventDef PajeEndLink 10
% Time date
% Type string
% Container string
% EndContainer string
% Value string
% Key string
%EndEventDef
0 program 0 "program"
0 memory program "main memory"
0 processor program "processor"
1 load program "load"
1 work processor "work"
2 decision program "decision"
3 travel program memory processor "to the processor"
3 home program processor memory "home"
4 computing work "computing" "0.267 0.467 0.667"
4 copy work "copy of a late block" "0.800 0.733 0.267"
4 idle work "idle" "0.870 0.870 0.870"
)";

std::string quoted(const std::string& text) {
    std::string out = shown(text);
    std::ranges::replace(out, '"', '\'');
    return "\"" + out + "\"";
}

class Lines {
  public:
    /// Of one moment, lines stay in the order in which they were added.
    void add(double at_s, int order, std::string line) { lines_.push_back({at_s, order, std::move(line)}); }
    std::string text() {
        std::ranges::stable_sort(lines_, {}, [](const Line& line) { return std::pair(line.at_s, line.order); });
        std::string text;
        for (const Line& line : lines_) text += line.text + "\n";
        return text;
    }

  private:
    struct Line {
        double at_s;
        int order;
        std::string text;
    };
    std::vector<Line> lines_;
};

std::string time_text(double seconds) { return fmt::format("{:.9f}", seconds); }

void add_block(Lines& lines, const TimelineBlock& block, std::size_t number) {
    const std::string processor = fmt::format("p{}", block.processor);
    const std::string what = quoted(fmt::format("{} units from {}", block.units, block.first));
    lines.add(block.given_s, 3, fmt::format("9 {} travel all memory {} in{}", time_text(block.given_s), what, number));
    lines.add(block.start_s, 4,
              fmt::format("10 {} travel all {} {} in{}", time_text(block.start_s), processor, what, number));
    lines.add(
        block.start_s, 2,
        fmt::format("7 {} work {} {}", time_text(block.start_s), processor, block.given_back ? "copy" : "computing"));
    lines.add(block.end_s, 1, fmt::format("7 {} work {} idle", time_text(block.end_s), processor));
    if (block.given_back || block.home_s <= block.end_s) return;
    lines.add(block.end_s, 3,
              fmt::format("9 {} home all {} {} out{}", time_text(block.end_s), processor, what, number));
    lines.add(block.home_s, 4, fmt::format("10 {} home all memory {} out{}", time_text(block.home_s), what, number));
}

}  // namespace

std::string paje_trace(const Timeline& timeline) {
    double end_s = 0;
    Lines lines;
    lines.add(0, -2, "5 0 all program 0 \"Apportion\"");
    lines.add(0, -1, "5 0 memory memory all \"main memory\"");
    for (std::size_t p = 0; p < timeline.processors.size(); ++p) {
        lines.add(0, -1, fmt::format("5 0 p{} processor all {}", p, quoted(timeline.processors[p])));
        lines.add(0, 0, fmt::format("7 0 work p{} idle", p));
    }
    for (const TimelineRun& run : timeline.runs) {
        lines.add(run.begin_s, 1,
                  fmt::format("7 {} load all {}", time_text(run.begin_s),
                              quoted(fmt::format("{} under {}, run {}", run.load, run.policy, run.run))));
        end_s = std::max(end_s, run.end_s);
    }
    for (const TimelineDecision& decision : timeline.decisions) {
        const std::string predicted =
            decision.predicted_s >= 0 ? fmt::format(", end predicted at {:.6g} s", decision.predicted_s) : "";
        lines.add(decision.at_s, 2,
                  fmt::format("8 {} decision all {}", time_text(decision.at_s),
                              quoted(fmt::format("{}: {}{}", decision.reason, decision.shares, predicted))));
        end_s = std::max(end_s, decision.at_s);
    }
    for (std::size_t b = 0; b < timeline.blocks.size(); ++b) {
        add_block(lines, timeline.blocks[b], b);
        end_s = std::max(end_s, timeline.blocks[b].home_s);
    }
    for (std::size_t p = 0; p < timeline.processors.size(); ++p)
        lines.add(end_s, 8, fmt::format("6 {} processor p{}", time_text(end_s), p));
    lines.add(end_s, 8, fmt::format("6 {} memory memory", time_text(end_s)));
    lines.add(end_s, 9, fmt::format("6 {} program all", time_text(end_s)));
    return kHeader + lines.text();
}

}  // namespace apportion
