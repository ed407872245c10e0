// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/mpi/node_facts.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "policies/config.hpp"
#include "policies/starpu/error.hpp"
#include "policies/starpu/load_options.hpp"
#include "policies/starpu/machine.hpp"

using nlohmann::json;

namespace apportion {

namespace {

constexpr const char* kDefaultPolicy = "plb-hec";
constexpr const char* kAlone = "equal";  // one node: all units in one grant

/// What two ranks do not agree on, in the fewest words: other units are why arrays are others. Or empty.
std::string difference(const json& one, const json& other) {
    std::string shortest;
    for (const auto& [key, value] : one.items()) {
        if (other.contains(key) && other.at(key) == value) continue;
        std::string what = fmt::format("{} = {} on one and {} on the other", key, value.dump(),
                                       other.contains(key) ? other.at(key).dump() : "nothing");
        if (shortest.empty() || what.size() < shortest.size()) shortest = std::move(what);
    }
    return shortest;
}

/// What the others are to know of this rank.
json own_facts(const World& world, const apportion_load_options& options, const json& arrays,
               const std::string& problem) {
    json mine{{"host", host_name()}, {"workers", starpu_worker_get_count()}};
    json devices = json::array();
    for (unsigned w = 0; w < starpu_worker_get_count(); ++w) {
        char name[128] = "";
        starpu_worker_get_name(static_cast<int>(w), name, sizeof name);
        devices.push_back(name);
    }
    mine["devices"] = devices;
    mine["policy"] = world.size() == 1 ? std::string(kAlone) : nodes_option().value_or(kDefaultPolicy);
    mine["load"] = {{"apportion", APPORTION_VERSION}, {"policies", json::array()}, {"arrays", arrays}};
    for (const PolicyEntry& entry : registered_policies()) mine["load"]["policies"].push_back(entry.name);
    if (problem.empty()) {
        const std::string name = load_name(options);
        mine["load"]["name"] = name;
        mine["load"]["profile"] = options.profile ? options.profile : name;
        mine["load"]["units"] = options.units;
        mine["load"]["granularity"] = options.granularity;
    }
    mine["problem"] = problem;
    return mine;
}

}  // namespace

apportion_load_options options_for_nodes(const char* function, const apportion_load_options* given,
                                         std::string& problem) {
    apportion_load_options options{};
    try {
        options = checked_options(given);
        if (options.open != 0 || options.done)
            problem = fmt::format("{}: options.open and options.done are this library's own", function);
    } catch (const ApiError& error) {
        problem = error.what();
    }
    return options;
}

std::string load_name(const apportion_load_options& options) {
    return options.name ? options.name : options.codelet->name ? options.codelet->name : "load";
}

NodeFacts gather_facts(const World& world, const apportion_load_options& options, const json& arrays,
                       const std::string& problem) {
    const json mine = own_facts(world, options, arrays, problem);
    std::vector<json> ranks;
    for (const std::string& text : world.gather(mine.dump(-1, ' ', false, json::error_handler_t::replace)))
        ranks.push_back(json::parse(text));
    for (std::size_t r = 0; r < ranks.size(); ++r)
        if (const std::string its = ranks[r].at("problem"); !its.empty())
            throw ApiError(EINVAL, r == 0 ? its : fmt::format("rank {}: {}", r, its));
    for (std::size_t r = 1; r < ranks.size(); ++r)
        if (const std::string what = difference(ranks[0].at("load"), ranks[r].at("load")); !what.empty())
            throw ApiError(EINVAL,
                           fmt::format("ranks 0 and {} do not run the same load: {}; start all ranks with the same "
                                       "program and the same command line",
                                       r, what));
    static int made = 0;
    NodeFacts facts;
    facts.called = fmt::format("load {} ('{}')", ++made, ranks[0].at("load").at("name").get<std::string>());
    facts.policy = find_policy(ranks[0].at("policy").get<std::string>());
    std::map<json, int> kinds;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        Processor node;
        node.name = fmt::format("node {} ({})", r, ranks[r].at("host").get<std::string>());
        node.kind = kinds.emplace(ranks[r].at("devices"), static_cast<int>(kinds.size())).first->second;
        node.own_memory = true;  // so that a second grant is there when the first is computed
        facts.load.processors.push_back(node);
        facts.workers += ranks[r].at("workers").get<std::int64_t>();
    }
    LoadDescription& load = facts.load;
    load.units = static_cast<Units>(options.units);
    load.granularity = static_cast<Units>(options.granularity);
    load.initial_block = default_initial_block(load.units, load.granularity, world.size());
    return facts;
}

RunRecord record_of_nodes(const std::string& name, const std::string& policy, const LoadDescription& description,
                          int run, double seconds, const std::string& error) {
    RunRecord record;
    record.load = record.profile = name;
    record.policy = policy;
    record.units = description.units;
    record.granularity = description.granularity;
    record.run = run;
    record.makespan_s = seconds;
    record.error = error;
    for (std::size_t r = 0; r < description.processors.size(); ++r)
        record.processors.push_back({description.processors[r].name, "node", static_cast<int>(r)});
    return record;
}

std::string with_nodes(nlohmann::ordered_json report, const std::vector<std::string>& nodes) {
    auto& list = report["nodes"] = nlohmann::ordered_json::array();
    for (const std::string& node : nodes) list.push_back(nlohmann::ordered_json::parse(node, nullptr, false));
    return report.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace apportion
