// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/apportion/comparison.hpp"
#include "tools/apportion/machine_load.hpp"

namespace apportion {

NLOHMANN_JSON_SERIALIZE_ENUM(Choice,
                             {{Choice::only, "only"}, {Choice::default_size, "default"}, {Choice::sweep, "sweep"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Ending, {{Ending::settled, "settled"},
                                      {Ending::rounds, "rounds"},
                                      {Ending::time, "time"},
                                      {Ending::signal, "signal"}})

namespace {

using Json = nlohmann::ordered_json;

Json loads_json(const RunResult& run) {
    Json loads = Json::array();
    for (const LoadTimes& load : run.loads)
        loads.push_back({{"name", load.name}, {"units", load.units}, {"runs", load.runs}, {"seconds", load.seconds}});
    return loads;
}

/// Of the first distribution; null where the policy made none.
Json planned_json(const RunReport& report) {
    if (report.distributions.empty()) return nullptr;
    const std::vector<std::optional<double>>& shares = report.distributions.front().shares;
    Json planned = Json::object();
    for (std::size_t p = 0; p < std::min(shares.size(), report.processors.size()); ++p)
        planned[report.processors[p].name] = shares[p] ? Json(*shares[p]) : Json();
    return planned;
}

Json run_json(const Comparison& comparison, const Configuration& c) {
    const Interval interval = median_interval(c.seconds());
    Json units = Json::object(), shares = Json::object(), idle = Json::object(), raw = Json::array();
    for (const ReportedProcessor& processor : c.median_run().report.processors) {
        units[processor.name] = processor.units;
        shares[processor.name] = 100 * processor.share;
        idle[processor.name] = processor.idle_percent;
    }
    for (const RunResult& run : c.runs) raw.push_back({{"round", run.round}, {"seconds", run.makespan_s}});
    Json run{{"policy", c.policy},
             {"blocks", c.blocks()},
             {"makespan_seconds",
              {{"median", c.median_s()},
               {"min", c.min_s()},
               {"max", c.max_s()},
               {"low", interval.low},
               {"high", interval.high},
               {"confidence", interval.confidence}}},
             {"idle_percent", c.idle_percent()},
             {"units_per_processor", units},
             {"planned_per_processor", planned_json(c.median_run().report)},
             {"idle_percent_per_processor", idle},
             {"share_percent", shares},
             {"choice", c.choice},
             {"best", &c == &comparison.best_of(c.policy)},
             {"loads", loads_json(c.median_run())},
             {"raw", std::move(raw)}};
    if (c.asked_blocks) run["asked_blocks"] = *c.asked_blocks;
    return run;
}

Json order_json(const Comparison& comparison) {
    const Order order = comparison.order();
    const std::vector<std::string> policies = comparison.policies();
    Json list = Json::array();
    for (std::size_t a = 0; a < policies.size(); ++a) {
        Json slower = Json::array();
        for (std::size_t b = 0; b < policies.size(); ++b)
            if (b != a && order.faster(a, b)) slower.push_back(policies[b]);
        list.push_back({{"policy", policies[a]}, {"rank", order.rank(a)}, {"faster_than", std::move(slower)}});
    }
    return list;
}

Json size_json(const Comparison& comparison) {
    const Json size = Json::parse("[" + comparison.asked_size + "]", nullptr, false);
    if (size.is_discarded()) return comparison.asked_size;
    return size.empty() ? Json() : size.size() == 1 ? size.front() : size;
}

}  // namespace

nlohmann::ordered_json comparison_json(const Comparison& comparison) {
    Json json{{"app", comparison.program},
              {"size", size_json(comparison)},
              {"platform", nullptr},
              {"units", comparison.units},
              {"platform_events", comparison.platform_events},
              {"lower_bound_seconds", nullptr},
              {"lower_bound_kind", comparison.bound_is_measured ? "measured" : "exact"},
              {"command", comparison.command},
              {"runs", Json::array()},
              {"order", order_json(comparison)},
              {"order_error", kOrderError},
              {"rounds", comparison.rounds},
              {"ended_by", comparison.ending},
              {"seed", comparison.plan.seed},
              {"seconds", comparison.seconds},
              {"cpus_of_other_programs", comparison.cpus_of_others},
              {"conclusions", conclusions(comparison)},
              {"provenance", provenance_json()}};
    if (!comparison.platform.empty()) json["platform"] = comparison.platform;
    if (std::isfinite(comparison.lower_bound_s)) json["lower_bound_seconds"] = comparison.lower_bound_s;
    for (const Configuration& c : comparison.configurations) json["runs"].push_back(run_json(comparison, c));
    return json;
}

}  // namespace apportion
