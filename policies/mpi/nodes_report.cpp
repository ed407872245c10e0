// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a run over nodes reports: rank 0 of the grants, and every node of its own blocks.
#include "policies/config.hpp"
#include "policies/mpi/node_facts.hpp"
#include "policies/mpi/nodes_load.hpp"
#include "policies/mpi/session.hpp"
#include "policies/starpu/report.hpp"

using namespace apportion;

void apportion_mpi_load::collect_reports(bool all) {
    const std::vector<std::string> nodes = all ? world_.gather(part_->report()) : std::vector<std::string>{};
    if (world_.rank() != 0) {
        report_ = part_->report();
        return;
    }
    report_ = with_nodes(outer_report(all), nodes);
    if (const std::string file = report_file(); !file.empty()) report_to_file(file, report_);
}

/// Of the whole run, on rank 0. Empty: none.
std::string apportion_mpi_load::report_file() const {
    return world_.rank() == 0 ? report_file_option() : std::string();
}

nlohmann::ordered_json apportion_mpi_load::outer_report(bool with_nodes) const {
    RunRecord record = record_of_nodes(name_, policy_name_, description_, runs_, seconds_, sentence_);
    record.policy_stalls = grants_->stalls();
    if (sentence_.empty() && !with_nodes) {
        std::string who;
        for (const LostNode& lost : grants_->lost_nodes())
            who += (who.empty() ? "" : ", ") + description_.processors[static_cast<std::size_t>(lost.node)].name;
        record.note = "the nodes' own reports are missing: " +
                      (who.empty() ? "one of them was late, and nobody waited for what was computed twice"
                                   : who + " got nothing more from some moment on, see lost_processors");
    }
    double unit_bytes = 0, elsewhere = 0;
    for (const apportion_mpi_array& array : arrays_)
        unit_bytes += static_cast<double>(array.bytes_per_unit) * static_cast<double>(array.pieces);
    for (const GrantRecord& g : grants_->records()) {
        const bool counts = g.state == GrantRecord::State::home;
        record.blocks.push_back({g.block.processor, g.block.first, g.block.units, g.given_s, g.start_s, g.end_s,
                                 g.end_s - g.start_s, g.home_s, !counts});
        if (counts && g.block.processor != 0) elsewhere += static_cast<double>(g.block.units);
    }
    for (const LostNode& lost : grants_->lost_nodes()) record.lost.push_back({lost.node, lost.at_s, lost.reason});
    auto report = nlohmann::ordered_json::parse(report_json(record, policy_->report(), trace_option()));
    report["inner_policy"] = part_->policy();
    report["network"] = {{"bytes", post_.bytes_moved() - bytes_before_}, {"least_bytes", elsewhere * unit_bytes}};
    return report;
}
