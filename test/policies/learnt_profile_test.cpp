// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What static policies and plb-hec make of times that earlier processes learnt.
#include "policies/shared/learnt_profile.hpp"

#include <algorithm>

#include "models/learnt_times.hpp"
#include "policies/shared/block_costs.hpp"
#include "test/catch.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

/// What the blocks of a run teach, as the load engine sees them.
std::vector<ProcessorProfile> learnt_from(const FakeRun& result, const LoadDescription& load) {
    std::vector<ProcessorProfile> learnt;
    for (std::size_t p = 0; p < load.processors.size(); ++p) {
        LearntTimes times;
        for (const FakeBlock& block : result.blocks)
            if (block.processor == static_cast<int>(p))
                times.add({block.units, block.end_s - block.start_s, 0, 1, 0, 0});
        times.end_process();
        learnt.push_back({load.processors[p].name, times.points()});
    }
    return learnt;
}

LoadDescription unknown(const FakePlatform& platform, Units units) {
    LoadDescription load = platform.load(units);
    load.recorded = {};
    return load;
}

double makespan_s(const FakePlatform& platform, const char* policy, const LoadDescription& load) {
    const auto made = find_policy(policy)->make();
    return run(platform, *made, load).makespan_s;
}

FakePlatform slowed(FakePlatform platform, std::size_t worker, double factor) {
    auto& seconds = platform.workers[worker].seconds;
    seconds = [truth = seconds, factor](double units) { return factor * truth(units); };
    return platform;
}

LoadDescription two_kinds() {
    LoadDescription load;
    load.units = 1000;
    load.processors = {{"slow", 0}, {"fast", 1}};
    return load;
}

}  // namespace

TEST_CASE("learnt times are dense enough when every processor ran two sizes and an eighth of its share") {
    const LoadDescription load = two_kinds();  // shares by the speeds below: 100 and 900
    const ProcessorProfile slow{"slow", {{5, 5.0}, {13, 13.0}}}, fast{"fast", {{20, 2.3}, {120, 13.0 + 1.0 / 3}}};
    CHECK(why_too_sparse({slow, fast}, load).empty());
    CHECK(why_too_sparse({{"slow", {}}, fast}, load) == "slow ran no block");
    CHECK(why_too_sparse({slow, {"fast", {{20, 20.0 / 9}, {100, 100.0 / 9}}}}, load) ==
          "fast ran no block of 112 units or more");
    CHECK(why_too_sparse({{"slow", {{13, 13.0}}}, fast}, load) == "slow ran blocks of one size only");
    CHECK(why_too_sparse({{"slow", {{100, 100.0}}}, fast}, load).empty());  // its whole share
}

TEST_CASE("a processor of which too little was learnt is planned with the times of one of its kind") {
    LoadDescription load = two_kinds();
    load.processors = {{"core 0", 0}, {"core 1", 0}, {"card", 1}};
    const ProcessorProfile core{"core 0", {{5, 5.0}, {90, 90.0}}}, card{"card", {{20, 4.0}, {800, 160.0}}};
    for (const std::vector<ProfilePoint>& little : {std::vector<ProfilePoint>{}, std::vector<ProfilePoint>{{5, 5.0}},
                                                    std::vector<ProfilePoint>{{5, 5.0}, {7, 7.0}}}) {
        load.learnt = {core, {"core 1", little}, card};
        CHECK(why_too_sparse(load.learnt, load).empty());
        const RecordedTimes times = recorded_from_learnt(load.learnt, load);
        REQUIRE(times.processors.size() == 3);
        CHECK(times.processors[1].name == "core 1");
        CHECK(times.processors[1].points.back().units == 90);
    }
    // The only one of its kind has nobody to take them from, and enough of its own is never replaced.
    load.processors[1].kind = 2;
    CHECK(why_too_sparse(load.learnt, load) == "core 1 ran no block of 17 units or more");
    load.processors[1].kind = 0;
    load.learnt[1].points = {{5, 20.0}, {20, 80.0}};
    CHECK(recorded_from_learnt(load.learnt, load).processors[1].points.back().seconds == 80);
}

TEST_CASE(
    "who ran nothing gets nothing where all such processors would add less than a tenth, if they are as their kind") {
    LoadDescription load = two_kinds();
    load.processors = {{"core 0", 0}, {"core 1", 0}, {"card", 1}};
    for (const double card_speed : {5, 50}) {
        load.learnt = {{"core 0", {{5, 5.0}, {90, 90.0}}},
                       {"core 1", {}},
                       {"card", {{20, 20 / card_speed}, {800, 800 / card_speed}}}};
        FakePlatform platform = plain_platform({1, 0.2, card_speed}, 0);
        for (std::size_t p = 0; p < 3; ++p) platform.workers[p].kind = load.processors[p].kind;
        take_learnt(load, "file");
        const auto policy = find_policy("hpopta")->make();
        const FakeRun result = run(platform, *policy, load);
        CHECK(result.done);
        CHECK((result.units_of(1) == 0) == (card_speed == 50));
    }
}

TEST_CASE("a processor that ran little because it is slow is not planned with the times of a fast one of its kind") {
    LoadDescription load = two_kinds();
    load.processors = {{"core 0", 0}, {"core 1", 0}, {"card", 1}};
    load.learnt = {
        {"core 0", {{50, 0.05}, {500, 0.5}}}, {"core 1", {{20, 0.201}}}, {"card", {{50, 0.025}, {600, 0.3}}}};
    const RecordedTimes times = recorded_from_learnt(load.learnt, load);
    CHECK(times.processors[1].points == std::vector<ProfilePoint>{{20, 0.201}});
    // Of what ran nothing, whatever one of its kind ran is known.
    load.learnt[1].points.clear();
    load.learnt[0].points = {{50, 0.05}};
    CHECK(recorded_from_learnt(load.learnt, load).processors[1].points == load.learnt[0].points);
}

TEST_CASE("processors that runs made no use of do not keep others from being planned") {
    const FakePlatform platform = plain_platform({1000, 500, 0.01, 10}, 1e-3);
    LoadDescription load = unknown(platform, 20'000);
    const std::vector<ProcessorProfile> used{{"", {{1000, 1.001}, {8000, 8.001}}}, {"", {{500, 1.001}, {4000, 8.001}}}};
    load.learnt = {used[0], used[1], {}, {"", {{20, 2.001}}}};
    for (std::size_t p = 0; p < 4; ++p) load.learnt[p].name = load.processors[p].name, load.processors[p].kind = int(p);
    take_learnt(load, "file");
    REQUIRE(load.recorded.problem.empty());
    const std::vector<ProfilePoint>& one_size = load.recorded.processors[3].points;
    CHECK(one_size == std::vector<ProfilePoint>{{20, 2.001}});
    for (const char* name : policies_that_need_a_profile()) {
        INFO(name);
        const auto policy = find_policy(name)->make();
        const FakeRun result = run(platform, *policy, load);
        CHECK(result.done);
        CHECK(result.units_of(2) == 0);
        CHECK(result.makespan_s < 1.1 * 20'000 / 1510);
    }
    load.learnt = {{}, {}, {}, {}};
    load.recorded = {};
    load.recorded.problem = "nothing is recorded";
    take_learnt(load, "file");
    CHECK(load.recorded.processors.empty());
    CHECK(load.recorded.problem == "nothing is recorded");
}

TEST_CASE("where too little was learnt of every processor, blocks may be eight times the largest that ran") {
    const FakePlatform platform = plain_platform({1000, 500}, 1e-3);
    LoadDescription load = unknown(platform, 400'000);
    // One small block of each; the second's was disturbed and tells of a processor a hundred times slower.
    load.learnt = {{load.processors[0].name, {{200, 0.201}}}, {load.processors[1].name, {{200, 40.0}}}};
    load.recorded.problem = "nothing is recorded";
    for (const double longer_than_best : {2.2, 1.1}) {  // each run teaches the next
        take_learnt(load, "file");
        REQUIRE(load.recorded.problem.empty());
        const auto policy = find_policy("hpopta")->make();
        const FakeRun result = run(platform, *policy, load);
        CHECK(result.done);
        CHECK(result.makespan_s < longer_than_best * 400'000 / 1500);
        for (const FakeBlock& block : result.blocks) {
            const Units largest = load.learnt[static_cast<std::size_t>(block.processor)].points.back().units;
            CHECK(block.units <= 8 * largest);
        }
        load.learnt = learnt_from(result, load);
    }
}

TEST_CASE("where no processor ran as much as the smallest block, blocks of that size are planned") {
    const FakePlatform platform = plain_platform({1000, 500}, 1e-3);
    for (const Units granularity : {7, 500}) {
        LoadDescription load = unknown(platform, granularity);
        load.granularity = granularity;
        load.learnt = {{load.processors[0].name, {{1, 0.002}}}, {load.processors[1].name, {{1, 0.003}, {5, 0.011}}}};
        take_learnt(load, "file");
        const auto policy = find_policy("hpopta")->make();
        CHECK(run(platform, *policy, load).done);
    }
}

TEST_CASE("of an open load, whose blocks are no larger than what arrives, blocks of any two sizes are enough") {
    LoadDescription load = two_kinds();
    load.learnt = {{"slow", {{5, 5.0}, {7, 7.0}}}, {"fast", {{20, 2.3}, {40, 4.4}}}};
    load.recorded.problem = "nothing is recorded";
    take_learnt(load, "file");
    CHECK(load.recorded.note == "too little was learnt to know larger blocks: slow ran no block of 12 units or more");
    load.recorded = {};
    load.open = true;
    take_learnt(load, "file");
    CHECK(load.recorded.problem.empty());
    CHECK(load.recorded.note.empty());
    CHECK(load.recorded.source == "file");
    CHECK(load.recorded.processors.size() == 2);
}

TEST_CASE("a memory that holds less than an eighth of the share, and one of the kind that ran, are enough") {
    LoadDescription load = two_kinds();
    load.processors[1].memory_units = 50;
    const ProcessorProfile slow{"slow", {{5, 5.0}, {25, 25.0}}}, fast{"fast", {{20, 4.0}, {50, 10.0}}};
    CHECK(why_too_sparse({slow, fast}, load).empty());
    load.processors.push_back({"slow too", 0});
    CHECK(why_too_sparse({slow, fast, {"slow too", {}}}, load).empty());
    const RecordedTimes times = recorded_from_learnt({slow, fast, {"slow too", {}}}, load);
    CHECK(times.processors[2].points == times.processors[0].points);
}

TEST_CASE("recorded times made of learnt ones never fall and have no holes") {
    const LoadDescription load = two_kinds();
    const RecordedTimes times = recorded_from_learnt(
        {{"slow", {{10, 10.0}, {20, 24.0}, {30, 20.0}, {100, 100.0}}}, {"fast", {{15, 2.0}, {90, 10.0}}}}, load);
    REQUIRE(times.learnt);
    const std::vector<ProfilePoint>& slow = times.processors[0].points;
    CHECK(slow.size() == 6);
    CHECK(std::ranges::is_sorted(slow, {}, &ProfilePoint::seconds));
    CHECK(slow[2].seconds == Approx(22));           // 20 units
    CHECK(times.processors[1].points.size() == 4);  // within its own range
}

TEST_CASE("what was learnt is planned with links as transfers were seen in each direction") {
    FakePlatform platform = plain_platform({100, 100, 100});
    LoadDescription load = unknown(platform, 1000);
    load.links = {{1e-3, 1e-4}, {1e-3, 1e-4}, {}};
    load.learnt.resize(3);
    for (std::size_t p = 0; p < 3; ++p) load.learnt[p].name = load.processors[p].name;
    load.processors[0].own_memory = load.processors[1].own_memory = true;
    load.learnt[0].points = {{.units = 100, .seconds = 1, .in_s = 0.101},
                             {.units = 200, .seconds = 2, .in_s = 0.201},
                             {.units = 400, .seconds = 4}};  // hidden
    load.learnt[1].points = {{.units = 100, .seconds = 1, .out_s = 11e-3}, {.units = 400, .seconds = 4}};
    load.learnt[2].points = {{.units = 100, .seconds = 1}, {.units = 400, .seconds = 4}};
    take_learnt(load, "file");
    const auto links = recorded_links(load);
    CHECK(links[0].in.seconds_per_unit == Approx(1e-3));
    CHECK(links[0].in.latency_s == Approx(1e-3));
    CHECK(links[0].out == load.links[0].out);  // never seen
    CHECK(links[1].in == load.links[1].in);
    CHECK(links[1].out.seconds(100) == Approx(11e-3));  // twice as slow as half of the link's time
    CHECK(links[1].out.latency_s == Approx(1e-3));
    CHECK(links[2] == LoadDescription::Link{});
}

TEST_CASE("what one run of plb-hec teaches is enough for the policies that plan, and auto gets better by it") {
    for (const char* machines : {"A", "AB", "ABC", "ABCD"})
        for (const Units order : {4096, 16384, 65536}) {
            INFO(machines << " " << order);
            FakePlatform platform = plb_hec_machines(machines, order);
            platform.links_known = true;
            LoadDescription load = unknown(platform, order);
            const auto first = find_policy("plb-hec")->make();
            const FakeRun result = run(platform, *first, load);
            load.learnt = learnt_from(result, load);
            take_learnt(load, "learnt");  // a device that is hardly worth it may have run a single block
            REQUIRE(load.recorded.problem == "");
            REQUIRE(load.recorded.source == "learnt");
            const double best_s = makespan_s(platform, "hpopta", platform.load(order));
            CHECK(makespan_s(platform, "hpopta", load) <= 1.15 * best_s);
            CHECK(makespan_s(platform, "auto", load) <= 1.03 * result.makespan_s);
        }
}

TEST_CASE("plb-hec begins with what an earlier process learnt as if it had been an earlier submission") {
    const FakePlatform platform = plb_hec_machines("ABCD", 65536);
    LoadDescription load = unknown(platform, 65536);
    const auto policy = find_policy("plb-hec")->make();
    const FakeRun first = run(platform, *policy, load);
    const double again_s = run(platform, *policy, load).makespan_s;
    load.learnt = learnt_from(first, load);
    const auto second = find_policy("plb-hec")->make();
    const double second_s = run(platform, *second, load).makespan_s;
    CHECK(second->report().distributions.at(0).reason == "models of the previous run");
    CHECK(second_s <= 1.1 * again_s);  // it looks first whether that is still right
    CHECK(second_s < first.makespan_s);
}

TEST_CASE("learnt times that have become wrong cost plb-hec and auto little") {
    for (const char* machines : {"AB", "ABCD"})
        for (const double factor : {3.0, 1.0 / 3}) {
            const FakePlatform before = plb_hec_machines(machines, 65536);
            LoadDescription load = unknown(before, 65536);
            const auto first = find_policy("plb-hec")->make();
            const std::vector<ProcessorProfile> learnt = learnt_from(run(before, *first, load), load);
            for (std::size_t changed = 0; changed < before.workers.size(); ++changed) {
                INFO(machines << " " << before.workers[changed].name << " " << factor);
                const FakePlatform now = slowed(before, changed, factor);
                LoadDescription known = load;
                known.learnt = learnt;
                known.recorded = recorded_from_learnt(learnt, load);
                const double nothing_s = makespan_s(now, "plb-hec", load);
                CHECK(makespan_s(now, "plb-hec", known) <= 1.03 * nothing_s);
                CHECK(makespan_s(now, "auto", known) <= 1.03 * nothing_s);
            }
        }
}
