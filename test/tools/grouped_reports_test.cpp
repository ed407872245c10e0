// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What tools make of reports of which some have groups of cores (APPORTION_GROUPS) and others the cores.
#include "test/catch.hpp"
#include "tools/apportion/explanation.hpp"
#include "tools/apportion/processor_groups.hpp"

using namespace apportion;

namespace {

struct Share {
    std::string name;
    std::int64_t units, workers;
    double compute_s;
};

RunReport report_of(const std::vector<Share>& shares) {
    RunReport report;
    report.policy = "equal";
    report.granularity = 1;
    for (const Share& share : shares) {
        ReportedProcessor& processor = report.processors.emplace_back();
        processor.name = share.name;
        processor.kind = "CPU";
        processor.units = share.units;
        processor.blocks = 1;
        processor.workers = share.workers;
        processor.compute_s = share.compute_s;
        report.units += share.units;
        report.blocks += 1;
    }
    for (ReportedProcessor& processor : report.processors)
        processor.share = static_cast<double>(processor.units) / static_cast<double>(report.units);
    return report;
}

const std::vector<Share> kCores{{"CPU 0", 25, 1, 1}, {"CPU 1", 25, 1, 1}, {"CPU 2", 25, 1, 1}, {"CPU 3", 25, 1, 1}};
const std::vector<Share> kGroups{{"CPU 0", 25, 1, 1}, {"CPU 1-3", 75, 3, 1}};

}  // namespace

TEST_CASE("a report has shares of its own processors only, each unit once") {
    const RunReport cores = report_of(kCores), groups = report_of(kGroups);
    for (const auto& reports : {std::vector{&cores, &groups}, std::vector{&groups, &cores}})
        for (const RunReport* report : reports) {
            double sum = 0;
            for (const ProcessorGroup& group : processor_groups(reports))
                sum += share_percent(*report, group).value_or(0);
            CHECK(sum == 100);
        }
    CHECK_FALSE(share_percent(groups, processor_groups({&cores}).front()));
}

TEST_CASE("a group of three cores that is three times as fast as one is not unlike it") {
    CHECK(unlike_cores(report_of(kGroups)).empty());
    CHECK_FALSE(unlike_cores(report_of({{"CPU 0", 25, 1, 1}, {"CPU 1-3", 75, 3, 3}})).empty());
}
