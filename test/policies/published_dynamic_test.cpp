// SPDX-License-Identifier: LGPL-2.1-or-later
//
// acosta and hdss: what PLB-HeC's paper says about them.
#include <map>
#include <numeric>

#include "test/catch.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

std::map<int, std::vector<FakeBlock>> blocks_by_processor(const FakeRun& run) {
    std::map<int, std::vector<FakeBlock>> blocks;
    for (const FakeBlock& block : run.blocks) blocks[block.processor].push_back(block);
    return blocks;
}

}  // namespace

TEST_CASE("acosta's first round is equal and its second one after the relative power, behind a barrier") {
    const FakePlatform platform = plain_platform({3000, 1000});
    const auto policy = find_policy("acosta")->make();
    auto blocks = blocks_by_processor(run(platform, *policy, platform.load(100'000, 1, 100)));
    CHECK(blocks[0][0].units == 100);
    CHECK(blocks[1][0].units == 100);
    CHECK(blocks[0][1].units == 150);
    CHECK(blocks[1][1].units == 50);
    CHECK(blocks[0][1].start_s == Approx(blocks[1][0].end_s));
    CHECK(policy->report().distributions.at(0).reason == "relative power");
}

TEST_CASE("acosta approaches the balance asymptotically where blocks have fixed costs") {
    FakePlatform platform = plain_platform({4000, 1000});
    platform.workers[0].seconds = [](double units) { return 0.2 + units / 4000; };
    const auto policy = find_policy("acosta")->make();
    auto blocks = blocks_by_processor(run(platform, *policy, platform.load(100'000, 1, 100)));
    const std::size_t rounds = policy->report().distributions.size();
    CHECK(rounds >= 3);
    for (std::size_t round = 1; round < rounds; ++round) CHECK(blocks[0][round + 1].units < blocks[0][round].units);
}

TEST_CASE("acosta stops waiting once balanced and waits again when a processor becomes slower") {
    FakePlatform platform = plain_platform({2000, 1000});
    const auto steady = find_policy("acosta")->make();
    const FakeRun result = run(platform, *steady, platform.load(100'000, 1, 500));
    CHECK(steady->report().rebalances == 0);
    CHECK(result.makespan_s < 1.05 * 100'000 / 3000);
    platform.workers[0].drift_at_s = 10;
    platform.workers[0].drift_factor = 4;
    const auto disturbed = find_policy("acosta")->make();
    const FakeRun slower = run(platform, *disturbed, platform.load(100'000, 1, 500));
    CHECK(disturbed->report().rebalances >= 1);
    CHECK(slower.makespan_s < 1.1 * (10 + 70'000.0 / 1500));
}

TEST_CASE("hdss probes every processor with the same sizes and then hands out shrinking blocks by weight") {
    const FakePlatform platform = plain_platform({3000, 1000}, 1e-3);
    const auto policy = find_policy("hdss")->make();
    auto blocks = blocks_by_processor(run(platform, *policy, platform.load(100'000, 1, 100)));
    for (int p : {0, 1})
        for (std::size_t probe = 0; probe < 4; ++probe) CHECK(blocks[p][probe].units == 100 << probe);
    for (int p : {0, 1}) {
        double probed_s = blocks[1][3].end_s;
        CHECK(blocks[p][4].start_s >= Approx(probed_s));
        for (std::size_t k = 5; k < blocks[p].size(); ++k) CHECK(blocks[p][k].units <= blocks[p][k - 1].units);
    }
    CHECK(blocks[0][4].units == Approx(3 * blocks[1][4].units).epsilon(0.4));
    CHECK(policy->report().models.at(0).samples == 4);
}

TEST_CASE("hdss probes with at most a fifth of the load") {
    const FakePlatform platform = plain_platform({1000, 1000, 1000, 1000});
    const auto policy = find_policy("hdss")->make();
    const FakeRun result = run(platform, *policy, platform.load(10'000, 1, 100));
    Units probed = 0;
    const double end_s = policy->report().probing_seconds;
    for (const FakeBlock& block : result.blocks)
        if (block.end_s <= end_s * (1 + 1e-9)) probed += block.units;
    CHECK(probed > 0);
    CHECK(probed <= 2000);
}

TEST_CASE("on PLB-HeC's four machines with the largest matrices plb-hec is ahead of hdss, hdss of acosta and greedy") {
    const FakePlatform platform = plb_hec_machines("ABCD", 65536);
    const auto seconds = [&](const char* name) {
        const auto policy = find_policy(name)->make();
        return run(platform, *policy, platform.load(65536)).makespan_s;
    };
    const double hdss_s = seconds("hdss");
    CHECK(seconds("plb-hec") < hdss_s);
    CHECK(hdss_s < seconds("acosta"));
    CHECK(hdss_s < seconds("greedy"));
}

TEST_CASE("a processor that acosta lost in one run begins the next one with an initial block") {
    FakePlatform platform = plain_platform({1000, 1000});
    const auto policy = find_policy("acosta")->make();
    platform.workers[1].lost_at_s = 1;
    CHECK(run(platform, *policy, platform.load(10'000, 1, 100)).done);
    platform.workers[1].lost_at_s = -1;
    CHECK(run(platform, *policy, platform.load(10'000, 1, 100)).units_of(1) > 4000);
}

TEST_CASE("under acosta every processor of a load that runs again has its part of each run") {
    for (const std::size_t processors : {4u, 32u}) {
        std::vector<double> speeds;
        for (std::size_t p = 0; p < processors; ++p) speeds.push_back(1e6 / static_cast<double>(1 + p % 3));
        FakePlatform platform = plain_platform(speeds, 1e-4);
        for (FakeWorker& worker : platform.workers) worker.noise = 0.03;
        const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
        const auto policy = find_policy("acosta")->make();
        for (unsigned runs = 1; runs <= 12; ++runs) {
            INFO(processors << " processors, run " << runs);
            platform.seed = runs;
            LoadDescription load = platform.load(10'000'000);
            load.run = static_cast<int>(runs);
            const FakeRun result = run(platform, *policy, load);
            REQUIRE(result.done);
            for (std::size_t p = 0; p < processors; ++p)
                CHECK(static_cast<double>(result.units_of(static_cast<int>(p))) > 0.7 * 1e7 * speeds[p] / sum);
        }
    }
}

TEST_CASE("acosta leaves out who is too slow, and begins the next run with a granule for it") {
    FakePlatform platform = plain_platform({1000, 1000, 1000, 1000});
    const auto policy = find_policy("acosta")->make();
    platform.workers[3].spikes = {{0, 1000}};
    CHECK(run(platform, *policy, platform.load(100'000, 1, 100)).units_of(3) < 200);
    platform.workers[3].spikes.clear();
    const FakeRun again = run(platform, *policy, platform.load(100'000, 1, 100));
    CHECK(again.units_of(3) > 20'000);
    CHECK(blocks_by_processor(again)[3][0].units == 1);
}

TEST_CASE("acosta goes on with the others, left out or not, when it loses a processor in balance") {
    FakePlatform platform = plain_platform({1000, 1000, 1});
    platform.workers[0].lost_at_s = 20;
    platform.workers[1].lost_at_s = 21;
    const auto policy = find_policy("acosta")->make();
    const FakeRun result = run(platform, *policy, platform.load(50'000, 1, 100));
    CHECK(result.done);
    CHECK(result.stalls == 0);
    CHECK(result.units_of(2) > 5000);
}

TEST_CASE("hdss probes in the next run whom it lost before there was a weight") {
    FakePlatform platform = plain_platform({1000, 1000});
    platform.workers[1].lost_at_s = 0.05;
    const auto policy = find_policy("hdss")->make();
    CHECK(run(platform, *policy, platform.load(100'000, 1, 100)).units_of(1) == 0);
    platform.workers[1].lost_at_s = -1;
    auto blocks = blocks_by_processor(run(platform, *policy, platform.load(100'000, 1, 100)));
    for (std::size_t probe = 0; probe < 4; ++probe) CHECK(blocks[1][probe].units == 100 << probe);
    CHECK(blocks[0][0].given_s >= Approx(blocks[1][3].end_s));
    CHECK(policy->report().models.at(1).samples == 4);
}
