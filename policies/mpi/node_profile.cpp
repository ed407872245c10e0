// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/mpi/node_profile.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/io/user_error.hpp"
#include "policies/config.hpp"
#include "policies/mpi/node_facts.hpp"
#include "policies/planners/discrete_problem.hpp"
#include "policies/planners/hpopta/best_time_curve.hpp"
#include "policies/shared/block_costs.hpp"
#include "policies/shared/learnt_profile.hpp"
#include "policies/shared/recorded_plan.hpp"
#include "policies/starpu/learnt_store.hpp"
#include "policies/starpu/load_options.hpp"
#include "policies/starpu/machine.hpp"
#include "policies/starpu/profile_store.hpp"
#include "policies/starpu/workers.hpp"

namespace apportion {

namespace {

/// The smallest makespan of all processors for each number of units that the node may get, as hpopta plans it.
DiscreteTimes best_times(LoadDescription load) {
    load.links = recorded_links(load);
    std::vector<ShareTimes> times;
    const RecordedSizes sizes = recorded_sizes(load);
    for (std::size_t p = 0; p < load.processors.size(); ++p) times.emplace_back(load, p, sizes);
    const std::vector<double> busy_s(times.size(), 0);
    const std::vector<bool> lost(times.size(), false);
    const RecordedProblem problem = recorded_problem(load, times, sizes, load.units, busy_s, lost);
    std::vector<SizeTimes> shares;
    for (const DiscreteTimes& its : problem.shares.processors) shares.emplace_back(its.points, its.seconds);
    return best_time_curve(shares, problem.shares.units);
}

/// The node's part of the load, with what is known of its processors.
LoadDescription part_of_node(const apportion_load_options& options) {
    LoadDescription load;
    load.units = static_cast<Units>(options.units);
    load.open = true;
    load.granularity = granularity_of(options);
    const char* const codelet = options.codelet->name;
    const std::string name = options.profile ? options.profile : load_name(options);
    std::vector<Worker> workers =
        workers_for(*options.codelet, 0, load.granularity, {options.bytes_per_unit, options.bytes_shared});
    group_cores(workers, 0);
    for (const Worker& worker : workers) load.processors.push_back(worker.processor);
    load.recorded = find_recorded_times(
        {name, options.profile_command ? options.profile_command : "", load.units, load.granularity, load.processors},
        this_machine());
    if (load.recorded.problem.empty() || !learn_option()) return load;
    const LearntKey key =
        learnt_key(this_machine(), name, codelet, load.processors, {options.bytes_per_unit, options.bytes_shared});
    try {
        const std::filesystem::path file = learnt_file(key);
        load.learnt = read_learnt(file, key).processors;
        if (load.recorded.none) take_learnt(load, file.string());
    } catch (const FileError&) {
        // The node's own load tells of it.
    }
    return load;
}

/// As it travels: the node's times, or the reason why there are none.
nlohmann::json times_of_node(const apportion_load_options& options) {
    const LoadDescription load = part_of_node(options);
    nlohmann::json times{{"source", load.recorded.source}, {"problem", load.recorded.problem}, {"points", nullptr}};
    if (load.recorded.processors.size() != load.processors.size()) return times;
    const DiscreteTimes curve = best_times(load);
    for (std::size_t k = 0; k < curve.points.size(); ++k)
        times["points"].push_back({curve.points[k], curve.seconds[k]});
    return times;
}

}  // namespace

bool knows_own_times(const apportion_load_options& options) {
    if (!learn_option()) return true;
    try {
        const LoadDescription load = part_of_node(options);
        return load.recorded.problem.empty() || any_learnt(load.learnt);
    } catch (const std::exception&) {
        return true;  // who needs a profile is told why there is none
    }
}

RecordedTimes recorded_times_of_nodes(const World& world, const apportion_load_options& options) {
    nlohmann::json own;
    try {
        own = times_of_node(options);
    } catch (const std::exception& error) {
        own = {{"problem", error.what()}, {"points", nullptr}};
    }
    RecordedTimes times;
    std::vector<ProcessorProfile> nodes;
    for (const std::string& text : world.gather(own.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))) {
        const auto node = nlohmann::json::parse(text);
        const std::size_t rank = nodes.size();
        if (node.at("points").is_null()) {
            times.problem = fmt::format("rank {}: {}", rank, node.at("problem").get<std::string>());
            return times;
        }
        ProcessorProfile profile;
        profile.name = fmt::format("node {}", rank);
        for (const auto& point : node.at("points")) profile.points.push_back({point[0], point[1], 0, 0});
        nodes.push_back(std::move(profile));
        times.source = node.at("source");
    }
    times.processors = std::move(nodes);
    return times;
}

}  // namespace apportion
