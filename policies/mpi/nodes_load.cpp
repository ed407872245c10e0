// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A load over nodes, until it runs; nodes_run.cpp has its runs.
#include "policies/mpi/nodes_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "policies/config.hpp"
#include "policies/mpi/node_profile.hpp"
#include "policies/mpi/session.hpp"
#include "policies/starpu/error.hpp"
#include "policies/starpu/machine.hpp"

using apportion::ApiError;
using nlohmann::json;

namespace {

constexpr const char* kDefaultPolicy = "plb-hec";
constexpr const char* kAlone = "equal";  // one node: all units in one grant

json array_facts(const apportion::Post::Arrays& arrays) {
    json facts = json::array();
    for (const apportion_mpi_array& a : arrays)
        facts.push_back({{"bytes_per_unit", a.bytes_per_unit},
                         {"pieces", a.pieces},
                         {"stride", a.pieces > 1 ? a.stride : 0},
                         {"mode", a.mode}});
    return facts;
}

/// What two ranks do not agree on, or empty.
std::string difference(const json& one, const json& other) {
    for (const auto& [key, value] : one.items())
        if (!other.contains(key) || other.at(key) != value)
            return fmt::format("{} = {} on one and {} on the other", key, value.dump(),
                               other.contains(key) ? other.at(key).dump() : "nothing");
    return {};
}

}  // namespace

apportion_mpi_load::apportion_mpi_load(const apportion_load_options* options, const apportion_mpi_array* arrays,
                                       unsigned count)
    : world_(apportion::World::get()), post_(apportion::running_post()) {
    std::string problem;
    if (!options || !options->codelet || !options->fill)
        problem = "apportion_mpi_load_create: options, their codelet and their fill function must be given";
    else if (count > 0 && !arrays)
        problem = "apportion_mpi_load_create: arrays is NULL but count is not 0";
    else if (options->open != 0 || options->done)
        problem = "apportion_mpi_load_create: options.open and options.done are this library's own";
    if (problem.empty()) {
        arrays_.assign(arrays, arrays + count);
        problem = apportion::why_no_arrays(arrays_);
    }
    json mine = facts(options, problem);
    std::vector<json> nodes;
    for (const std::string& text : world_.gather(mine.dump(-1, ' ', false, json::error_handler_t::replace)))
        nodes.push_back(json::parse(text));
    for (std::size_t r = 0; r < nodes.size(); ++r)
        if (const std::string its = nodes[r].at("problem"); !its.empty())
            throw ApiError(EINVAL, r == 0 ? its : fmt::format("rank {}: {}", r, its));
    for (std::size_t r = 1; r < nodes.size(); ++r)
        if (const std::string what = difference(nodes[0].at("load"), nodes[r].at("load")); !what.empty())
            throw ApiError(EINVAL,
                           fmt::format("ranks 0 and {} do not run the same load: {}; start all ranks with the same "
                                       "program and the same command line",
                                       r, what));
    policy_name_ = nodes[0].at("policy");
    describe(nodes);

    std::int64_t workers = 0;
    for (const json& node : nodes) workers += node.at("workers").get<std::int64_t>();
    const apportion::Units initial =
        options->initial_block > 0 ? static_cast<apportion::Units>(options->initial_block)
        : apportion::initial_block_option()
            ? *apportion::initial_block_option()
            : apportion::default_initial_block(description_.units, description_.granularity,
                                               static_cast<int>(std::max<std::int64_t>(1, workers)));
    try {
        part_ = std::make_unique<apportion::NodePart>(*options, static_cast<std::uint64_t>(initial), post_);
        make_policy();
    } catch (const std::exception& error) {
        problem = error.what();
    }
    if (const std::string agreed = apportion::agreed_sentence(world_, problem); !agreed.empty()) {
        part_.reset();
        throw ApiError(ENODEV, agreed);
    }
    if (!apportion::find_policy(policy_name_)->reads_profile) return;
    apportion::RecordedTimes own;
    try {
        own = apportion::recorded_times_of_node(*options, world_.rank());
    } catch (const std::exception& error) {
        own.problem = error.what();
    }
    std::vector<std::string> texts = world_.gather(apportion::to_text(own));
    description_.recorded = apportion::recorded_times_of_nodes(texts);
    if (recovery_) recovery_->recorded(description_.recorded.processors);
}

/// What the others are to know of this rank.
json apportion_mpi_load::facts(const apportion_load_options* options, std::string& problem) {
    json mine{{"host", apportion::host_name()}, {"workers", starpu_worker_get_count()}};
    json devices = json::array();
    for (unsigned w = 0; w < starpu_worker_get_count(); ++w) {
        char name[128] = "";
        starpu_worker_get_name(static_cast<int>(w), name, sizeof name);
        devices.push_back(name);
    }
    mine["devices"] = devices;
    mine["policy"] = world_.size() == 1 ? std::string(kAlone) : apportion::nodes_option().value_or(kDefaultPolicy);
    mine["load"] = {{"version", APPORTION_VERSION}, {"arrays", array_facts(arrays_)}};
    if (problem.empty()) {
        name_ = options->name ? options->name : (options->codelet->name ? options->codelet->name : "load");
        description_.units = static_cast<apportion::Units>(options->units);
        description_.granularity = static_cast<apportion::Units>(std::max<std::uint64_t>(1, options->granularity));
        mine["load"]["name"] = name_;
        mine["load"]["profile"] = options->profile ? options->profile : name_;
        mine["load"]["units"] = options->units;
        mine["load"]["granularity"] = description_.granularity;
    }
    mine["problem"] = problem;
    return mine;
}

/// The load as the outer policy sees it.
void apportion_mpi_load::describe(const std::vector<json>& nodes) {
    std::map<json, int> kinds;
    for (std::size_t r = 0; r < nodes.size(); ++r) {
        apportion::Processor node;
        node.name = fmt::format("node {} ({})", r, nodes[r].at("host").get<std::string>());
        node.kind = kinds.emplace(nodes[r].at("devices"), static_cast<int>(kinds.size())).first->second;
        node.own_memory = true;  // so that a second grant is there when the first is computed
        description_.processors.push_back(node);
    }
    description_.initial_block =
        apportion::default_initial_block(description_.units, description_.granularity, static_cast<int>(nodes.size()));
}

/// All ranks must know it: they go different ways where it reads a profile.
void apportion_mpi_load::make_policy() {
    const apportion::PolicyEntry* entry = apportion::find_policy(policy_name_);
    if (!entry)
        throw ApiError(EINVAL, fmt::format("this version of Apportion has no policy '{}', which rank 0 takes by "
                                           "APPORTION_NODES; start the same version on all ranks",
                                           policy_name_));
    if (world_.rank() != 0) return;
    policy_ = entry->make();
    if (const double factor = apportion::stall_factor_option(); factor > 0)
        recovery_ = std::make_unique<apportion::Recovery>(factor, description_.processors.size());
}
