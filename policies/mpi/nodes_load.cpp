// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A load over nodes, until it runs; nodes_run.cpp has its runs.
#include "policies/mpi/nodes_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "policies/config.hpp"
#include "policies/mpi/node_facts.hpp"
#include "policies/mpi/node_profile.hpp"
#include "policies/mpi/session.hpp"
#include "policies/starpu/error.hpp"

using namespace apportion;

using nlohmann::json;

namespace {

json array_facts(const Post::Arrays& arrays) {
    json facts = json::array();
    for (const apportion_mpi_array& a : arrays)
        facts.push_back({{"bytes_per_unit", a.bytes_per_unit},
                         {"pieces", a.pieces},
                         {"stride", a.pieces > 1 ? a.stride : 0},
                         {"mode", a.mode}});
    return facts;
}

}  // namespace

apportion_mpi_load::apportion_mpi_load(const apportion_load_options* given, const apportion_mpi_array* arrays,
                                       unsigned count)
    : world_(World::get()), post_(running_post()) {
    std::string problem;
    const apportion_load_options options = options_for_nodes("apportion_mpi_load_create", given, problem);
    if (problem.empty() && count > 0 && !arrays)
        problem = "apportion_mpi_load_create: arrays is NULL but count is not 0";
    if (problem.empty()) {
        arrays_.assign(arrays, arrays + count);
        problem = why_no_arrays(arrays_, options.units);
    }
    const NodeFacts facts = gather_facts(world_, options, array_facts(arrays_), problem);
    policy_name_ = facts.policy->name;
    called_ = facts.called;
    name_ = load_name(options);
    description_ = facts.load;
    if (world_.rank() == 0) make_policy(*facts.policy);

    const Units initial = options.initial_block > 0 ? static_cast<Units>(options.initial_block)
                          : initial_block_option()
                              ? *initial_block_option()
                              : default_initial_block(description_.units, description_.granularity,
                                                      static_cast<int>(std::max<std::int64_t>(1, facts.workers)));
    try {
        part_ = std::make_unique<NodePart>(options, static_cast<std::uint64_t>(initial), post_);
    } catch (const std::exception& error) {
        problem = error.what();
    }
    if (const std::string agreed = agreed_sentence(world_, problem); !agreed.empty()) {
        part_.reset();
        throw ApiError(ENODEV, agreed);
    }
    find_journey(options);
    if (!facts.policy->reads_profile()) return;
    description_.recorded = recorded_times_of_nodes(world_, options);
    if (recovery_) recovery_->recorded(description_.recorded.processors);
}

/// What the messages of a grant take: to compute it and that it is computed, and as many for its input and its results.
/// While a node has yet to learn its times, it must not go without grants because it is not needed.
void apportion_mpi_load::find_journey(const apportion_load_options& options) {
    const std::vector<std::string> known = world_.gather(knows_own_times(options) ? "known" : "");
    const double limit_s = recovery_ ? recovery_->silence_s() : std::numeric_limits<double>::infinity();
    const auto answer_s = post_.answer_s(world_.rank(), world_.size(), limit_s);
    if (!answer_s)
        abort_job(fmt::format(
            "no message of StarPU-MPI has come from other nodes for {:g} s, and the job ends; has the program "
            "started StarPU-MPI itself, which apportion_mpi_init does?",
            limit_s));
    if (world_.rank() != 0) return;
    const auto any = [&](int mode) { return std::ranges::count(arrays_, mode, &apportion_mpi_array::mode) > 0; };
    const double journey_s = *answer_s * (1 + any(STARPU_R) + any(STARPU_W));
    home_first_.emplace(*policy_, std::ranges::count(known, "") > 0 ? 0 : journey_s);
}

void apportion_mpi_load::make_policy(const PolicyEntry& entry) {
    policy_ = entry.make();
    if (const double factor = stall_factor_option(); factor > 0)
        recovery_ = std::make_unique<Recovery>(factor, description_.processors.size());
}
