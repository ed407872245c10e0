// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The static policies on the fake platform: what they plan is what happens, where their model is exact.
#include <algorithm>
#include <map>
#include <tuple>

#include "test/catch.hpp"
#include "test/fake_platform.hpp"
#include "test/published/gdansk.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

struct Outcome {
    FakeRun run;
    PolicyReport report;
};

Outcome run_under(const char* name, const FakePlatform& platform, const LoadDescription& load) {
    const auto policy = find_policy(name)->make();
    FakeRun result = run(platform, *policy, load);
    REQUIRE(result.done);
    return {std::move(result), policy->report()};
}

std::vector<Units> every(Units step, Units to) {
    std::vector<Units> sizes;
    for (Units x = step; x <= to; x += step) sizes.push_back(x);
    return sizes;
}

/// Two cores, a device behind its own link, and one whose memory takes a quarter of its share.
FakePlatform unlike_platform() {
    FakePlatform platform = plain_platform({100, 150}, 1e-3);
    platform.links = {{1e6}, {2e6}};
    platform.bytes_in_per_unit = platform.bytes_out_per_unit = 40;
    platform.links_known = true;
    for (int d = 0; d < 2; ++d) {
        FakeWorker device;
        device.name = "device " + std::to_string(d);
        device.kind = 2 + d;
        device.link = d;
        device.latency_s = 1e-3;
        device.seconds = [d](double x) { return 0.05 + x / (1000.0 * (d + 1)); };
        if (d == 1) device.memory_units = device.physical_units = 3000;
        platform.workers.push_back(device);
    }
    return platform;
}

}  // namespace

TEST_CASE("the planned end is the real one without noise") {
    const FakePlatform platform = unlike_platform();
    LoadDescription load = platform.load(20'000);
    platform.record(load, {1, 10, 100, 1000, 3000, 10'000, 20'000});
    for (const char* name : policies_that_need_a_profile()) {
        INFO(name);
        const Outcome outcome = run_under(name, platform, load);
        REQUIRE(outcome.report.distributions.size() == 1);
        const PlannedDistribution& plan = outcome.report.distributions[0];
        CHECK(outcome.run.makespan_s == Approx(plan.predicted_end_s).epsilon(1e-6));
        for (std::size_t p = 0; p < 4; ++p)
            CHECK(static_cast<double>(outcome.run.units_of(static_cast<int>(p))) == plan.shares_units[p]);
        CHECK(outcome.report.profile == load.recorded.source);
        CHECK(outcome.run.stalls == 0);
    }
}

TEST_CASE("a load that runs again is planned once, until something of it changes") {
    const FakePlatform platform = unlike_platform();
    LoadDescription load = platform.load(20'000);
    platform.record(load, {1, 10, 100, 1000, 3000, 10'000, 20'000});
    for (const char* name : policies_that_need_a_profile()) {
        INFO(name);
        const auto policy = find_policy(name)->make();
        const auto runs = [&] {
            const FakeRun result = run(platform, *policy, load);
            REQUIRE(result.done);
            const PolicyReport report = policy->report();
            REQUIRE(report.distributions.size() == 1);
            return std::tuple(report.solves, report.distributions[0].shares_units, result.makespan_s);
        };
        const auto [solves, shares, makespan_s] = runs();
        CHECK(solves == 1);
        CHECK(runs() == std::tuple(0, shares, makespan_s));
        const Profiles before = load.recorded.processors;
        std::vector<ProcessorProfile> slower = before;
        slower[0].points.back().seconds *= 2;
        load.recorded.processors = std::move(slower);
        CHECK(std::get<0>(runs()) == 1);
        load.recorded.processors = std::vector<ProcessorProfile>(before);  // equal, if not the same
        CHECK(runs() == std::tuple(1, shares, makespan_s));
    }
}

TEST_CASE("data that stay are planned with once the runs to come gain more than it costs to move them") {
    FakePlatform platform = plain_platform({100});
    FakeWorker device{.name = "device", .kind = 1, .seconds = [](double x) { return x / 900; }, .link = 0};
    platform.workers.push_back(device);
    platform.links = {{1000}};
    platform.bytes_in_per_unit = 10;  // to bring a unit takes as long as a core needs for it
    platform.links_known = true;
    LoadDescription load = platform.load(1000);
    platform.record(load, every(10, 1000));
    const double all_s = 1000 / 1000.0;
    for (const char* name : policies_that_need_a_profile()) {
        INFO(name);
        const auto policy = find_policy(name)->make();
        load.run = 1;
        load.runs_expected = 0;
        load.staying = 0;
        policy->begin(load);
        const PlannedDistribution first = policy->report().distributions.at(0);
        REQUIRE(first.predicted_end_s > 3 * all_s);

        const auto again = [&](int run, double staying, int runs_expected) {
            load.run = run;
            load.staying = staying;
            load.runs_expected = runs_expected;
            policy->begin(load);
            return policy->report().distributions.at(0);
        };
        CHECK(again(2, 0, 50).shares_units == first.shares_units);
        CHECK(again(2, 1, 2).shares_units == first.shares_units);
        policy->block_finished({.processor = 1, .units = 640, .end_s = 20 * first.predicted_end_s});
        CHECK(again(2, 1, 10).shares_units == first.shares_units);  // the link is slower than the runtime thinks
        const PlannedDistribution there = again(3, 1, 500);
        CHECK(there.reason == "data that stay");
        CHECK(there.predicted_end_s == Approx(all_s).epsilon(0.02));
        CHECK(again(4, 1, 50).shares_units == there.shares_units);
        CHECK(again(50, 1, 50).shares_units == there.shares_units);
    }
}

TEST_CASE("where runs are too few to bring a device behind a slow link all its data, it gets a part of the units") {
    FakePlatform platform = plain_platform({100});
    platform.workers.push_back({.name = "near", .kind = 1, .seconds = [](double x) { return x / 900; }, .link = 0});
    platform.workers.push_back({.name = "far", .kind = 2, .seconds = [](double x) { return x / 9000; }, .link = 1});
    platform.links = {{1667}, {250}};  // 6 and 40 ms a unit
    platform.bytes_in_per_unit = 10;
    platform.links_known = true;
    LoadDescription load = platform.load(1000);
    platform.record(load, every(10, 1000));
    for (const char* name : policies_that_need_a_profile()) {
        INFO(name);
        const auto policy = find_policy(name)->make();
        load.run = 1;
        load.runs_expected = 17;
        load.staying = 0;
        policy->begin(load);
        const PlannedDistribution first = policy->report().distributions.at(0);
        load.run = 2;
        load.staying = 1;
        policy->begin(load);
        const PlannedDistribution there = policy->report().distributions.at(0);
        CHECK(there.reason == "data that stay");
        CHECK(there.predicted_end_s < 0.6 * first.predicted_end_s);
        CHECK(there.shares_units[2] < 500);  // of the 900 with which runs take least
        load.run = 3;
        policy->begin(load);
        CHECK(policy->report().distributions.at(0).shares_units == there.shares_units);
    }
}

TEST_CASE("on smooth times the functional models and the assignment come close to the bound") {
    const FakePlatform platform = unlike_platform();
    LoadDescription load = platform.load(20'000);
    platform.record(load, {1, 10, 100, 1000, 3000, 10'000, 20'000});
    for (const char* name : {"fpm", "fpm-akima", "hpopta", "ilp", "min-min"}) {
        INFO(name);
        CHECK(run_under(name, platform, load).run.makespan_s < 1.05 * platform.lower_bound_s(20'000));
    }
}

TEST_CASE("the blocks of a share that streams through a device are as large as the memory's buffers let them be") {
    FakePlatform platform = plain_platform({100});
    platform.workers.push_back({.name = "small",
                                .kind = 1,
                                .seconds = [](double x) { return (x + 64) / 1000; },
                                .link = 0,
                                .memory_units = 93});
    platform.links = {{1e6}};
    platform.bytes_in_per_unit = platform.bytes_out_per_unit = 1000;
    platform.links_known = true;
    for (const FakeBlock& block : run_under("hpopta", platform, platform.load(4000, 4)).run.blocks)
        if (block.processor == 1) CHECK(block.units >= 36);  // of 40, four buffers of 20 in all
}

TEST_CASE("a share above a device's memory runs as blocks that fit") {
    const FakePlatform platform = unlike_platform();
    for (const char* name : policies_that_need_a_profile()) {
        INFO(name);
        const Outcome outcome = run_under(name, platform, platform.load(20'000));
        std::map<int, int> blocks;
        for (const FakeBlock& block : outcome.run.blocks) {
            ++blocks[block.processor];
            if (block.processor == 3) CHECK(block.units <= 3000);
        }
        CHECK(outcome.run.units_of(3) > 3000);
        CHECK(blocks[3] >= 3);
    }
}

TEST_CASE("hpopta beats the others where times are not smooth, and is never worse") {
    // Sizes around an equal share take twice as long; smaller blocks avoid that, but each has a fixed cost.
    FakePlatform platform = plain_platform({100, 100});
    for (FakeWorker& worker : platform.workers)
        worker.seconds = [](double x) { return 0.5 + x / (x > 80 && x < 120 ? 50 : 100); };
    LoadDescription load = platform.load(200);
    platform.record(load, every(1, 200));
    std::map<std::string, double> makespan_s;
    for (const char* name : {"equal", "cpm", "fpm", "fpm-akima", "hpopta"})
        makespan_s[name] = run_under(name, platform, load).run.makespan_s;
    CHECK(makespan_s["hpopta"] == Approx(1.7));  // 80 and 120
    for (const auto& [name, seconds] : makespan_s) {
        INFO(name);
        CHECK(makespan_s["hpopta"] <= seconds);
    }
    CHECK(makespan_s["fpm"] == Approx(2));  // two blocks of 50 each
    CHECK(makespan_s["equal"] == Approx(2.5));
}

TEST_CASE("hpopta gives no processor a block of a size that was not recorded for it") {
    FakePlatform platform = plain_platform({100, 300});
    LoadDescription load = platform.load(512);
    platform.record(load, every(2, 512));
    std::vector<ProcessorProfile> profiles = load.recorded.processors;
    std::erase_if(profiles[1].points,
                  [](const ProfilePoint& point) { return point.units > 100 && point.units % 16 != 0; });
    load.recorded.processors = std::move(profiles);
    const Outcome outcome = run_under("hpopta", platform, load);
    for (const FakeBlock& block : outcome.run.blocks) {
        CHECK(block.units % 2 == 0);
        if (block.processor == 1) CHECK((block.units <= 100 || block.units % 16 == 0));
    }
}

TEST_CASE("static policies plan again over those that are left when a processor is lost") {
    FakePlatform platform = plain_platform({1000, 1000, 1000, 1000});
    for (FakeWorker& worker : platform.workers) worker.memory_units = 500, worker.kind = 0;
    platform.workers[2].lost_at_s = 0.7;
    std::vector<const char*> names = policies_that_need_a_profile();
    names.push_back("imbalance");
    for (const char* name : names) {
        INFO(name);
        const Outcome outcome = run_under(name, platform, platform.load(8000));
        CHECK(outcome.run.stalls == 0);
        CHECK(outcome.run.makespan_s < 3.5);  // three processors need at least 2.5 s
        REQUIRE(outcome.report.distributions.size() >= 2);
        CHECK(outcome.report.distributions[1].reason == "processor lost");
        CHECK(outcome.report.distributions[1].shares_units[2] == 0);
        CHECK(outcome.report.distributions.back().predicted_end_s == Approx(outcome.run.makespan_s).epsilon(0.1));
    }
}

TEST_CASE("what is planned for a processor that is late is for others, until its block has ended") {
    FakePlatform platform = plain_platform({1000, 1000, 1000, 1000});
    for (FakeWorker& worker : platform.workers) worker.memory_units = 250, worker.kind = 0;
    platform.workers[2].spikes = {{2, 20}};  // 5 s instead of 0.25 s
    std::vector<const char*> names = policies_that_need_a_profile();
    names.push_back("imbalance");
    for (const char* name : names) {
        INFO(name);
        platform.stall_factor = 50;
        const Outcome outcome = run_under(name, platform, platform.load(8000));
        CHECK(outcome.run.units_of(2) <= 750);  // its first three blocks
        CHECK(outcome.run.makespan_s < 5.6);
        CHECK(outcome.report.distributions.back().reason == "processor late");
        platform.stall_factor = 0;  // every block is waited for
        CHECK(run_under(name, platform, platform.load(8000)).run.units_of(2) == 2000);
    }
    platform.stall_factor = 50;
    platform.workers[2].spikes = {{20, 24}};  // from 5 to 11 s
    for (const char* name : names) {
        INFO(name);
        const Outcome outcome = run_under(name, platform, platform.load(40000));
        CHECK(outcome.report.distributions.back().reason == "late processor back");
        CHECK(outcome.run.units_of(2) > 5250);     // more than until then
        CHECK(outcome.run.makespan_s < 11 + 0.5);  // 4750 units, of which three compute 3000 until 11 s
    }
}

TEST_CASE("a late processor is planned with by nobody, also when all others are lost meanwhile") {
    FakePlatform platform = plain_platform({1000, 1000});
    platform.links = {{1e12}};
    for (FakeWorker& worker : platform.workers) worker.memory_units = 250;
    platform.workers[1].link = 0;
    platform.workers[1].spikes = {{4, 100}};
    platform.workers[0].lost_at_s = 4.5;  // it computes what was planned for the device then
    platform.stall_factor = 50;
    const Outcome outcome = run_under("hpopta", platform, platform.load(8000));
    CHECK(outcome.report.solver_fallbacks == 0);
    for (const PlannedDistribution& plan : outcome.report.distributions)
        CHECK(std::ranges::any_of(plan.shares_units, [](double units) { return units > 0; }));
}

TEST_CASE("without a profile a static policy refuses the load with the sentence that says what to do") {
    const FakePlatform platform = plain_platform({100, 200});
    LoadDescription load = platform.load(1000);
    load.recorded = {{}, "file", "", "there is no recorded profile file; record it with `apportion profile`"};
    for (const char* name : policies_that_need_a_profile()) {
        INFO(name);
        const auto policy = find_policy(name)->make();
        CHECK_THROWS_WITH(run(platform, *policy, load), load.recorded.problem);
    }
}

TEST_CASE("over a serial network ilp plans the published optimal distributions, over a parallel one others") {
    using namespace published::gdansk;
    int others = 0;
    for (const Size& size : kSizes) {
        FakePlatform platform = plain_platform(std::vector<double>(kUnits, 1));
        for (std::size_t j = 0; j < kUnits; ++j)
            platform.workers[j].seconds = [c = size.c_s[j]](double packets) { return c * packets; };
        for (const Column& column : size.columns) {
            LoadDescription load = platform.load(column.packets);
            load.links.clear();
            for (std::size_t j = 0; j < kUnits; ++j) {
                load.processors[j].own_memory = true;
                const std::size_t node = kNodeOfUnit[j];
                load.links.push_back({2 * kStartupS[node], (size.input_bytes + size.result_bytes) / kBytesPerS[node]});
            }
            INFO(size.unknowns << " unknowns, " << column.packets << " packets");
            const std::vector<double> published(column.distribution.begin(), column.distribution.end());
            const auto shares = [&](const char* network) {
                setenv("APPORTION_NETWORK", network, 1);
                const auto policy = find_policy("ilp")->make();
                policy->begin(load);
                unsetenv("APPORTION_NETWORK");
                return policy->report().distributions.at(0).shares_units;
            };
            CHECK(shares("serial") == published);
            others += shares("parallel") != published;
        }
    }
    CHECK(others > 0);
}

TEST_CASE("a planned share is one piece, and the same one in the next run") {
    const FakePlatform platform = unlike_platform();
    LoadDescription load = platform.load(20'000);
    platform.record(load, {1, 10, 100, 1000, 3000, 10'000, 20'000});
    const auto policy = find_policy("hpopta")->make();
    const FakeRun first = run(platform, *policy, load);
    load.run = 2;
    load.staying = 1;
    const FakeRun second = run(platform, *policy, load, &first);
    CHECK(moved_units(first, second) == 0);
    for (int p = 0; p < 4; ++p) {
        Units from = load.units, to = 0;
        for (const FakeBlock& block : first.blocks) {
            if (block.processor != p) continue;
            from = std::min(from, block.first);
            to = std::max(to, block.first + block.units);
        }
        CHECK(std::max<Units>(0, to - from) == first.units_of(p));
    }
}
