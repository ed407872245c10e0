// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/merged_report.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "test/catch.hpp"

using namespace apportion;
using Json = nlohmann::ordered_json;

namespace {

/// Of a load over two nodes, one of which may have been late, so that nobody waited for the nodes' own reports.
Json over_two_nodes(bool late) {
    const auto processor = [](const char* name) {
        return Json{{"name", name},
                    {"units", 5},
                    {"blocks", 1},
                    {"compute_seconds", 1.0},
                    {"transfer_wait_seconds", 0.0},
                    {"return_seconds", 0.0}};
    };
    Json report{{"units", 10},
                {"blocks", 2},
                {"makespan_seconds", 2.0},
                {"planning_seconds", 0.5},
                {"note", ""},
                {"lost_processors", Json::array()},
                {"late_blocks", Json::array()},
                {"processors", {processor("node 0"), processor("node 1")}}};
    const Json own = report;
    report["network"] = {{"bytes", 100}, {"least_bytes", 80}};
    report["nodes"] = late ? Json::array() : Json{own, own};
    if (late) report["note"] = "the nodes' own reports are missing";
    return report;
}

}  // namespace

TEST_CASE("reports of loads that ran one after the other add up, and keep the notes of all") {
    const Json both = merged_report({over_two_nodes(false), over_two_nodes(false)});
    CHECK(both["units"] == 20);
    CHECK(both["makespan_seconds"] == 4.0);
    CHECK(both["processors"][1]["units"] == 10);
    CHECK(both["network"]["bytes"] == 200);
    CHECK(both["nodes"].size() == 2);
    CHECK(both["nodes"][0]["units"] == 20);
    CHECK(both["note"] == "");
    CHECK(both["parts"].size() == 2);

    const std::string missing = "the nodes' own reports are missing";
    for (const bool first : {false, true}) {
        const Json merged = merged_report({over_two_nodes(first), over_two_nodes(!first)});
        CHECK(merged["nodes"].empty());
        CHECK(merged["note"] == missing);
    }
    CHECK(merged_report({over_two_nodes(true), over_two_nodes(true)})["note"] == missing);
    Json other = over_two_nodes(false);
    other["note"] = "another note";
    CHECK(merged_report({over_two_nodes(true), other})["note"] == missing + "; another note");
}
