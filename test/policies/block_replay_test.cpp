// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/block_replay.hpp"

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

TEST_CASE("a balanced run that was planned with models is repeated block by block") {
    const FakePlatform platform = plb_hec_machines("AB", 16384);
    const LoadDescription load = platform.load(16384);
    const auto policy = find_policy("plb-hec")->make();
    const double learning_s = run(platform, *policy, load).makespan_s;
    for (int i = 0; i < 6; ++i) run(platform, *policy, load);  // until the plan is balanced
    const FakeRun one = run(platform, *policy, load), next = run(platform, *policy, load);
    CHECK(policy->report().note == "blocks of the previous run repeated");
    CHECK(blocks_of(next, load.processors.size()) == blocks_of(one, load.processors.size()));
    CHECK(next.makespan_s < learning_s);
}

TEST_CASE("a run of another size is planned afresh") {
    const FakePlatform platform = plain_platform({1000, 3000}, 1e-4);
    const auto policy = find_policy("plb-hec")->make();
    for (int i = 0; i < 3; ++i) run(platform, *policy, platform.load(20'000));
    const FakeRun other = run(platform, *policy, platform.load(10'000));
    CHECK(other.done);
    CHECK(other.makespan_s < 1.05 * 10'000 / 4000);
}

TEST_CASE("a repetition ends when a processor becomes slower") {
    FakePlatform platform = plain_platform({1000, 1000, 1000}, 1e-4);
    const auto policy = find_policy("plb-hec")->make();
    for (int i = 0; i < 3; ++i) run(platform, *policy, platform.load(30'000));
    platform.workers[1].drift_at_s = 0;
    platform.workers[1].drift_factor = 2;
    run(platform, *policy, platform.load(30'000));
    const FakeRun result = run(platform, *policy, platform.load(30'000));
    CHECK(result.done);
    CHECK(result.makespan_s < 1.1 * 30'000 / 2500);
}

TEST_CASE("a repetition ends when a processor is lost, and every unit is computed") {
    for (double lost_at_s : {0.0, 1.0, 5.0, 9.0}) {
        INFO("lost at " << lost_at_s);
        FakePlatform platform = plain_platform({1000, 1000, 1000}, 1e-4);
        const auto policy = find_policy("plb-hec")->make();
        for (int i = 0; i < 3; ++i) run(platform, *policy, platform.load(30'000));
        platform.workers[2].lost_at_s = lost_at_s;
        const FakeRun result = run(platform, *policy, platform.load(30'000));
        CHECK(result.done);
        CHECK(result.units_of(0) + result.units_of(1) + result.units_of(2) == 30'000);
        CHECK(result.stalls <= 1);
    }
}

TEST_CASE("a run that was not planned with models, or not whole, is not one to repeat") {
    LoadDescription load;
    load.units = 100;
    load.processors = {{"a"}, {"b"}};
    const auto finish = [](BlockReplay& replay, Units second) {
        replay.finished({0, 0, 0, 60, 0, 0, 0, 10, 10});
        replay.finished({1, 1, 60, second, 0, 0, 0, 9, 9});
    };
    BlockReplay replay;
    CHECK(replay.conclude(load).units.empty());
    replay.begin(load, false, false);
    finish(replay, 40);
    CHECK(replay.conclude(load).units.empty());
    replay.begin(load, true, false);
    finish(replay, 30);
    CHECK(replay.conclude(load).units.empty());
    replay.begin(load, true, false);
    CHECK_FALSE(replay.active());
    finish(replay, 40);
    const BlockReplay::Distribution run = replay.conclude(load);
    CHECK(run.units == std::vector<double>{60, 40});
    CHECK(run.ends_s == std::vector<double>{10, 9});
    replay.begin(load, true, true);
    CHECK(replay.active());
}
