// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/merged_report.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace apportion {

namespace {

void add(nlohmann::ordered_json& to, const nlohmann::ordered_json& from, const char* key) {
    if (from.at(key).is_number_integer())
        to[key] = to.at(key).get<std::int64_t>() + from.at(key).get<std::int64_t>();
    else
        to[key] = to.at(key).get<double>() + from.at(key).get<double>();
}

void add_note(nlohmann::ordered_json& to, const nlohmann::ordered_json& from) {
    const std::string note = from.at("note"), all = to.at("note");
    if (note.empty() || all.find(note) != std::string::npos) return;
    to["note"] = all.empty() ? note : all + "; " + note;
}

/// What reports of loads over nodes have besides: the bytes that moved, and each node's own report.
void merge_nodes(nlohmann::ordered_json& merged, const std::vector<nlohmann::ordered_json>& reports) {
    if (!merged.contains("nodes")) return;
    for (std::size_t r = 1; r < reports.size(); ++r)
        for (const char* key : {"bytes", "least_bytes"}) add(merged.at("network"), reports[r].at("network"), key);
    // A load that lost a node has none of these reports; then those of the others are not of all units either.
    const auto complete = [](const nlohmann::ordered_json& report) {
        const auto known = [](const nlohmann::ordered_json& its) { return its.contains("processors"); };
        return report.at("nodes").size() == report.at("processors").size() &&
               std::ranges::all_of(report.at("nodes"), known);
    };
    auto& nodes = merged.at("nodes");
    if (!std::ranges::all_of(reports, complete)) nodes = nlohmann::ordered_json::array();
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        std::vector<nlohmann::ordered_json> its;
        for (const auto& report : reports) its.push_back(report.at("nodes")[node]);
        nodes[node] = merged_report(its);
        nodes[node].erase("parts");
    }
}

}  // namespace

nlohmann::ordered_json merged_report(const std::vector<nlohmann::ordered_json>& reports) {
    nlohmann::ordered_json merged = reports.front();
    auto& processors = merged.at("processors");
    for (std::size_t r = 1; r < reports.size(); ++r) {
        for (const char* key : {"units", "blocks", "makespan_seconds", "planning_seconds"})
            add(merged, reports[r], key);
        add_note(merged, reports[r]);
        for (const char* key : {"lost_processors", "late_blocks"})
            for (const auto& event : reports[r].at(key)) merged.at(key).push_back(event);
        for (std::size_t p = 0; p < processors.size(); ++p)
            for (const char* key : {"units", "blocks", "compute_seconds", "transfer_wait_seconds", "return_seconds"})
                add(processors[p], reports[r].at("processors")[p], key);
    }
    const double makespan_s = merged.at("makespan_seconds");
    double idle = 0;
    for (auto& processor : processors) {
        const double busy_s = processor.at("compute_seconds");
        processor["idle_percent"] = makespan_s > 0 ? std::max(0.0, 100 * (1 - busy_s / makespan_s)) : 0;
        idle += processor["idle_percent"].get<double>() / static_cast<double>(processors.size());
    }
    merged["idle_percent"] = idle;
    merge_nodes(merged, reports);
    if (reports.size() > 1) merged["parts"] = reports;
    return merged;
}

}  // namespace apportion
