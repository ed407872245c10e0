// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/block_replay.hpp"

#include <tuple>

#include "test/catch.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

using Blocks = std::vector<std::vector<Units>>;

Blocks blocks_of(const FakeRun& result, std::size_t processors) {
    Blocks blocks(processors);
    for (const FakeBlock& block : result.blocks)
        blocks[static_cast<std::size_t>(block.processor)].push_back(block.units);
    return blocks;
}

}  // namespace

TEST_CASE("where data stay the run before is repeated block by block, and else planned anew") {
    const FakePlatform platform = plb_hec_machines("AB", 16384);
    LoadDescription load = platform.load(16384);
    load.staying = GENERATE(0, 1);
    const auto policy = find_policy("plb-hec")->make();
    const double learning_s = run(platform, *policy, load).makespan_s;
    for (int i = 0; i < 6; ++i) run(platform, *policy, load);  // until the plan is balanced
    const FakeRun one = run(platform, *policy, load), next = run(platform, *policy, load);
    CHECK((policy->report().note == "blocks of the run before repeated") == (load.staying > 0));
    if (load.staying > 0) CHECK(blocks_of(next, load.processors.size()) == blocks_of(one, load.processors.size()));
    if (load.staying > 0) CHECK(moved_units(one, next) == 0);
    CHECK(next.makespan_s < learning_s);
}

TEST_CASE("a run of another size is planned afresh") {
    const FakePlatform platform = plain_platform({1000, 3000}, 1e-4);
    const auto policy = find_policy("plb-hec")->make();
    for (const Units units : {20'000, 20'000, 20'000, 10'000, 20'000}) {
        LoadDescription load = platform.load(units);
        load.staying = 1;
        const FakeRun result = run(platform, *policy, load);
        CHECK(result.done);
        CHECK(result.makespan_s < 1.05 * static_cast<double>(units) / 4000);
    }
}

TEST_CASE("a repetition ends when a processor becomes slower") {
    FakePlatform platform = plain_platform({1000, 1000, 1000}, 1e-4);
    const auto load = [&] {
        LoadDescription l = platform.load(30'000);
        l.staying = 1;
        return l;
    };
    const auto policy = find_policy("plb-hec")->make();
    for (int i = 0; i < 3; ++i) run(platform, *policy, load());
    platform.workers[1].drift_at_s = 0;
    platform.workers[1].drift_factor = 2;
    run(platform, *policy, load());
    const FakeRun result = run(platform, *policy, load());
    CHECK(result.done);
    CHECK(result.makespan_s < 1.1 * 30'000 / 2500);
}

TEST_CASE("a repetition ends when a processor is lost, and every unit is computed") {
    for (double lost_at_s : {0.0, 1.0, 5.0, 9.0}) {
        INFO("lost at " << lost_at_s);
        FakePlatform platform = plain_platform({1000, 1000, 1000}, 1e-4);
        LoadDescription load = platform.load(30'000);
        load.staying = 1;
        const auto policy = find_policy("plb-hec")->make();
        for (int i = 0; i < 3; ++i) run(platform, *policy, load);
        platform.workers[2].lost_at_s = lost_at_s;
        const FakeRun result = run(platform, *policy, load);
        CHECK(result.done);
        CHECK(result.units_of(0) + result.units_of(1) + result.units_of(2) == 30'000);
        CHECK(result.stalls <= 1);
    }
}

namespace {

/// Two processors share a load of 100 units: the first computes 60 in one block, the second up to `rest` until `end_s`.
void run_once(BlockReplay& replay, double end_s, Units rest = 40) {
    replay.finished({0, 0, 0, 60, 0, 0, 0, 1, 1});
    replay.finished({1, 1, 60, rest, 0, 0, 0, end_s, end_s});
}

LoadDescription two_processors() {
    LoadDescription load;
    load.units = 100;
    load.processors = {{"a"}, {"b"}};
    return load;
}

}  // namespace

TEST_CASE("a run that is not whole is not one to repeat") {
    const LoadDescription load = two_processors();
    BlockReplay replay;
    replay.conclude(load);
    CHECK(replay.before_s() == 0);
    replay.begin(load, false);
    run_once(replay, 10, 30);
    replay.conclude(load);
    CHECK(replay.before_s() == 0);
    replay.begin(load, false);
    CHECK_FALSE(replay.active());
    run_once(replay, 10);
    replay.conclude(load);
    CHECK(replay.before_s() == 10);
    CHECK(replay.units_before() == std::vector<double>{60, 40});
    CHECK(replay.longest_s(1, 40) == 10);
    CHECK(replay.longest_s(1, 60) == 0);
    CHECK(replay.repeated().empty());
    replay.begin(load, true);
    CHECK(replay.active());
    const auto blocks = replay.repeated();
    REQUIRE(blocks.size() == 2);
    CHECK(blocks[1].processor == 1);
    CHECK(blocks[1].first == 60);
    CHECK(blocks[1].units == 40);
}

TEST_CASE("other shares are pieces of what those who change have, devices' first, and are repeated from then on") {
    LoadDescription load = two_processors();
    load.processors.push_back({"device", 0, true});
    load.units = 130;
    load.staying = 1;
    BlockReplay replay;
    replay.begin(load, false);
    run_once(replay, 10);
    replay.finished({2, 2, 100, 30, 0, 0, 0, 10, 10});
    replay.conclude(load);
    const std::vector<Units> shares{10, 40, 80}, largest{130, 130, 50};
    replay.begin(load, shares, largest, {true, false, true});
    const auto check = [&] {
        const auto blocks = replay.repeated();
        REQUIRE(blocks.size() == 5);
        const std::vector<OwnedUnits> expected{{2, 0, 50}, {2, 50, 10}, {1, 60, 40}, {2, 100, 20}, {0, 120, 10}};
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            CHECK(blocks[b].processor == expected[b].processor);
            CHECK(blocks[b].first == expected[b].first);
            CHECK(blocks[b].units == expected[b].units);
        }
    };
    check();
    for (const double end_s : {50, 5}) {  // data moved in the first of them
        for (const OwnedUnits& block : replay.repeated())
            replay.finished({0, block.processor, block.first, block.units, 0, 0, 0, end_s, end_s});
        CHECK(replay.ends_s() == std::vector<double>(3, end_s));
        replay.conclude(load);
        CHECK(replay.before_s() == end_s);
        replay.begin(load, true);
        check();
    }
}

TEST_CASE("a repetition goes on without a processor that has nothing to do in it") {
    LoadDescription load = two_processors();
    load.processors.push_back({"c"});
    BlockReplay replay;
    replay.begin(load, false);
    run_once(replay, 10);
    replay.conclude(load);
    replay.begin(load, true);
    replay.lost(2);
    CHECK(replay.active());
    replay.lost(1);
    CHECK_FALSE(replay.active());
}

TEST_CASE("slow repetitions are no reason to move data that stay") {
    LoadDescription load = two_processors();
    load.staying = 1;
    BlockReplay replay;
    replay.begin(load, false);
    run_once(replay, 10);
    for (int run = 0; run < 4; ++run) {
        replay.conclude(load);
        CHECK(replay.units_before() == std::vector<double>{60, 40});
        replay.begin(load, true);
        run_once(replay, 15);
    }
}

TEST_CASE("a core beside a card is tried in the first run, and costs no run more than a piece where it is slow") {
    for (const double core_s : {0.05, 2e-6}) {  // a unit
        test::FakePlatform platform = test::plain_platform({1}, 0);
        platform.workers.front().seconds = [core_s](double units) { return core_s * units; };
        platform.links = {{1e12}};
        platform.bytes_in_per_unit = 1;
        platform.stall_factor = 50;
        const auto seconds = [](double units) { return 3e-4 + 3e-7 * units; };
        const double card_s = seconds(20'000);
        platform.workers.push_back({.name = "card", .kind = 1, .seconds = seconds, .link = 0, .latency_s = 1e-5});
        std::swap(platform.workers[0], platform.workers[1]);
        LoadDescription load = platform.load(20'000);
        load.recorded = {};
        const auto policy = find_policy("plb-hec")->make();
        for (load.run = 1; load.run <= 8; ++load.run) {
            const test::FakeRun result = test::run(platform, *policy, load);
            INFO("run " << load.run << ", a core's unit takes " << core_s << " s");
            CHECK(result.done);
            if (core_s > 0.01) CHECK(result.units_of(1) == 0);
            if (core_s > 0.01) CHECK(result.makespan_s < card_s + 5 * seconds(1));
            if (core_s < 0.01) CHECK(result.units_of(1) > 0);
            if (core_s < 0.01 && load.run == 8) CHECK(result.makespan_s < 0.95 * card_s);
        }
    }
}

TEST_CASE("a share that grows keeps its blocks and gets others beside them") {
    LoadDescription load = two_processors();
    load.processors[0].own_memory = true;
    BlockReplay replay;
    replay.begin(load, false);
    run_once(replay, 10);
    replay.conclude(load);
    replay.begin(load, std::vector<Units>{90, 10}, std::vector<Units>{20, 100}, {false, true});
    const auto blocks = replay.repeated();
    REQUIRE(blocks.size() == 4);
    for (const auto& [block, processor, first, units] :
         {std::tuple{0, 0, 0, 60}, {1, 0, 60, 20}, {2, 0, 80, 10}, {3, 1, 90, 10}}) {
        const OwnedUnits& its = blocks[static_cast<std::size_t>(block)];
        CHECK(its.processor == processor);
        CHECK(its.first == first);
        CHECK(its.units == units);
    }
}

TEST_CASE("who keeps the last units of a load, which are no whole granule, gets no others for that") {
    LoadDescription load = two_processors();
    load.processors = {{"a", 0, true}, {"b", 1, true}, {"c", 2}};
    load.units = 1000;
    load.granularity = 64;
    BlockReplay replay;
    replay.begin(load, false);
    for (const auto& [processor, first, units] : {std::tuple{1, 0, 512}, {2, 512, 256}, {0, 768, 232}})
        replay.finished({0, processor, first, units, 0, 0, 0, 1, 1});
    replay.conclude(load);
    replay.begin(load, std::vector<Units>{256, 576, 192}, std::vector<Units>{256, 576, 192}, {false, false, true});
    for (const OwnedUnits& block : replay.repeated())
        CHECK((block.units % 64 == 0 || block.first + block.units == 1000));
    CHECK(replay.repeated().size() == 4);
}

TEST_CASE("a first run begins with blocks that are the whole load, the one with its last units behind all others") {
    const FakePlatform platform = plain_platform({1000, 1000}, 1e-4);
    BlockReplay replay;
    const LoadDescription load = platform.load(22, 4);
    REQUIRE(replay.begin_with(load, Blocks{{8, 2}, {4, 8}}));
    CHECK(replay.units_before() == std::vector<double>{10, 12});
    const std::vector<OwnedUnits> blocks = replay.repeated();
    REQUIRE(blocks.size() == 4);
    CHECK(blocks.back().processor == 0);
    CHECK(blocks.back().first == 20);
    CHECK(blocks.back().units == 2);
    for (const Blocks& wrong : {Blocks{{8, 2}, {4}}, Blocks{{8, 2}, {4, 8, 4}}, Blocks{{8, 2}, {5, 7}},
                                Blocks{{22}, {0}}, Blocks{{24}, {-2}}, Blocks{{}, {}}})
        CHECK_FALSE(BlockReplay().begin_with(load, wrong));
}
