// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

std::string shares_text(const ReportedDistribution& plan, const RunReport& report) {
    std::string text;
    for (std::size_t p = 0; p < std::min(plan.shares.size(), report.processors.size()); ++p)
        if (plan.shares[p])
            text += fmt::format("{}{}: {:g}", text.empty() ? "" : ", ", report.processors[p].name, *plan.shares[p]);
    return text;
}

class Builder {
  public:
    void add(const RunReport& report) {
        if (report.trace.empty() && report.blocks > 0)
            throw UserError(
                fmt::format("the report of load '{}', run {}, has no blocks; let the program run with "
                            "APPORTION_TRACE=1",
                            report.load, report.run));
        double last_s = std::max(report.makespan_s, add_blocks(report, ""));
        // A node's clock begins when it is told of the run, at about the same time.
        for (std::size_t node = 0; node < std::min(report.nodes.size(), report.processors.size()); ++node)
            last_s = std::max(last_s, add_blocks(report.nodes[node], report.processors[node].name + ", "));
        for (const ReportedDistribution& plan : report.distributions)
            timeline_.decisions.push_back({now_s_ + plan.at_s, plan.reason, shares_text(plan, report),
                                           plan.predicted_end_s ? now_s_ + *plan.predicted_end_s : -1});
        timeline_.runs.push_back({report.load, report.policy, report.run, now_s_, now_s_ + report.makespan_s});
        now_s_ += last_s;
    }

    Timeline take() { return std::move(timeline_); }

  private:
    /// Seconds since the run's begin when the last of them was home. `node`: what stands before its processors' names.
    double add_blocks(const RunReport& report, const std::string& node) {
        std::vector<std::size_t> indices;
        for (const ReportedProcessor& processor : report.processors) indices.push_back(index(node + processor.name));
        double last_s = 0;
        for (const ReportedBlock& block : report.trace) {
            TimelineBlock& own = timeline_.blocks.emplace_back();
            own.processor = indices[block.processor];
            own.load = report.load;
            own.first = block.first;
            own.units = block.units;
            // A block that was not waited for has no end: its times are 0.
            own.given_s = now_s_ + block.given_s;
            own.start_s = std::max(own.given_s, now_s_ + block.start_s);
            own.end_s = std::max(own.start_s, now_s_ + block.end_s);
            own.home_s = std::max(own.end_s, now_s_ + block.home_s);
            own.given_back = block.given_back;
            last_s = std::max(last_s, own.home_s - now_s_);
        }
        return last_s;
    }

    std::size_t index(const std::string& name) {
        auto found = std::ranges::find(timeline_.processors, name);
        if (found == timeline_.processors.end()) found = timeline_.processors.insert(found, name);
        return static_cast<std::size_t>(found - timeline_.processors.begin());
    }

    Timeline timeline_;
    double now_s_ = 0;
};

}  // namespace

Timeline timeline_of(const std::vector<RunReport>& reports) {
    Builder builder;
    for (const RunReport& report : reports) builder.add(report);
    return builder.take();
}

}  // namespace apportion
