// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

using Json = nlohmann::json;

std::string shares_text(const Json& plan, const Json& processors) {
    std::string text;
    const Json shares = plan.value("shares", Json::array());
    for (std::size_t p = 0; p < std::min(shares.size(), processors.size()); ++p)
        if (shares[p].is_number())
            text += fmt::format("{}{}: {:g}", text.empty() ? "" : ", ", processors[p].at("name").get<std::string>(),
                                shares[p].get<double>());
    return text;
}

class Builder {
  public:
    void add(const Json& report) {
        const std::string load = report.at("load");
        const Json& processors = report.at("processors");
        std::vector<std::size_t> indices;
        for (const Json& processor : processors) indices.push_back(index(processor.at("name")));
        const Json trace = report.value("trace", Json::array());
        if (trace.empty() && report.at("units").get<std::int64_t>() > 0)
            throw UserError(
                fmt::format("the report of load '{}', run {}, has no blocks; let the program run with "
                            "APPORTION_TRACE=1",
                            load, report.at("run").get<int>()));
        double last_s = report.at("makespan_seconds");
        for (const Json& block : trace) {
            TimelineBlock& own = timeline_.blocks.emplace_back();
            own.processor = indices[block.at("processor").get<std::size_t>()];
            own.load = load;
            own.first = block.at("first");
            own.units = block.at("units");
            // A block that was not waited for has no end: its times are 0.
            own.given_s = now_s_ + block.at("given").get<double>();
            own.start_s = std::max(own.given_s, now_s_ + block.at("start").get<double>());
            own.end_s = std::max(own.start_s, now_s_ + block.at("end").get<double>());
            own.home_s = std::max(own.end_s, now_s_ + block.at("home").get<double>());
            own.given_back = block.value("given_back", false);
            last_s = std::max(last_s, own.home_s - now_s_);
        }
        for (const Json& plan : report.value("distributions", Json::array())) {
            const Json predicted = plan.value("predicted_end_seconds", Json());
            timeline_.decisions.push_back({now_s_ + plan.value("at_seconds", 0.0), plan.value("reason", ""),
                                           shares_text(plan, processors),
                                           predicted.is_number() ? now_s_ + predicted.get<double>() : -1});
        }
        timeline_.runs.push_back({load, report.at("policy"), report.at("run"), now_s_,
                                  now_s_ + report.at("makespan_seconds").get<double>()});
        now_s_ += last_s;
    }

    Timeline take() { return std::move(timeline_); }

  private:
    std::size_t index(const std::string& name) {
        auto found = std::ranges::find(timeline_.processors, name);
        if (found == timeline_.processors.end()) found = timeline_.processors.insert(found, name);
        return static_cast<std::size_t>(found - timeline_.processors.begin());
    }

    Timeline timeline_;
    double now_s_ = 0;
};

}  // namespace

Timeline timeline_of(const std::vector<Json>& reports) {
    Builder builder;
    for (const Json& report : reports) builder.add(report);
    return builder.take();
}

}  // namespace apportion
