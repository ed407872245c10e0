// SPDX-License-Identifier: LGPL-2.1-or-later
//
// equal and greedy: the policies that others are compared to.

#include "test/catch.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;
using namespace apportion::test;

TEST_CASE("equal gives every processor the same, in one block where memory does not bound it") {
    const FakePlatform platform = plain_platform({100, 200, 300, 400});
    const auto policy = find_policy("equal")->make();
    const FakeRun result = run(platform, *policy, platform.load(1002, 1));
    CHECK(result.units_of(0) == 251);
    CHECK(result.units_of(1) == 251);
    CHECK(result.units_of(2) == 250);
    CHECK(result.units_of(3) == 250);
    CHECK(result.blocks.size() == 4);
}

TEST_CASE("equal keeps to the granularity and to the memory") {
    FakePlatform platform = plain_platform({100, 100});
    platform.workers[1].memory_units = 100;
    const auto policy = find_policy("equal")->make();
    const FakeRun result = run(platform, *policy, platform.load(996, 8));
    CHECK(result.done);
    CHECK(result.units_of(0) == 504);
    CHECK(result.units_of(1) == 492);
    for (const FakeBlock& block : result.blocks)
        if (block.processor == 1) CHECK(block.units <= 100);
}

TEST_CASE("equal spreads what a lost processor leaves over the others") {
    FakePlatform platform = plain_platform({1000, 1000, 1000, 1000});
    for (FakeWorker& worker : platform.workers) worker.memory_units = 500;
    platform.workers[2].lost_at_s = 0.7;
    const auto policy = find_policy("equal")->make();
    const FakeRun result = run(platform, *policy, platform.load(8000));
    CHECK(result.done);
    CHECK(result.stalls == 0);
    CHECK(result.units_of(2) == 500);
    CHECK(result.makespan_s < 3.5);  // three processors need at least 2.5 s
}

TEST_CASE("greedy gives blocks of the initial size to any idle worker") {
    const FakePlatform platform = plain_platform({3000, 1000});
    const auto policy = find_policy("greedy")->make();
    const FakeRun result = run(platform, *policy, platform.load(4000, 1, 40));
    for (const FakeBlock& block : result.blocks) CHECK(block.units == 40);
    CHECK(result.blocks.size() == 100);
    CHECK(result.units_of(0) == Approx(3000).epsilon(0.02));
    CHECK(result.makespan_s == Approx(1).epsilon(0.05));
}
