// SPDX-License-Identifier: LGPL-2.1-or-later
//
// plb-hec-published: what section III of PLB-HeC's paper says about it.
#include <cmath>
#include <map>

#include "test/catch.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

std::unique_ptr<Policy> published() { return find_policy("plb-hec-published")->make(); }

Units units_between(const FakeRun& run, int processor, double from_s, double to_s) {
    Units units = 0;
    for (const FakeBlock& block : run.blocks)
        if (block.processor == processor && block.given_s >= from_s && block.given_s < to_s) units += block.units;
    return units;
}

}  // namespace

TEST_CASE("plb-hec-published probes with 1, 2, 4 and 8 initial blocks, scaled by speed, behind barriers") {
    const FakePlatform platform = plain_platform({4000, 1000});
    const auto policy = published();
    const FakeRun result = run(platform, *policy, platform.load(100'000, 1, 100));
    std::map<int, std::vector<FakeBlock>> blocks;
    for (const FakeBlock& block : result.blocks) blocks[block.processor].push_back(block);
    const Units fast[] = {100, 200, 400, 800}, slow[] = {100, 50, 100, 200};
    for (std::size_t round = 0; round < 4; ++round) {
        CHECK(blocks[0][round].units == fast[round]);
        CHECK(blocks[1][round].units == slow[round]);
        if (round > 0) {
            const double both_done_s = std::max(blocks[0][round - 1].end_s, blocks[1][round - 1].end_s);
            CHECK(blocks[0][round].start_s >= both_done_s);
            CHECK(blocks[1][round].start_s >= both_done_s);
        }
    }
    const PolicyReport report = policy->report();
    CHECK(report.solves >= 1);
    CHECK(report.solver_fallbacks == 0);
    CHECK(report.distributions.at(0).reason == "first fit");
    CHECK(report.models.at(0).r2 > 0.7);
    CHECK(report.rebalances == 0);
}

TEST_CASE("plb-hec-published probes with a fifth of the units when no curve fits") {
    FakePlatform platform = plain_platform({1000, 1000});
    for (FakeWorker& worker : platform.workers)
        for (int block = 0; block < 100; block += 2) worker.spikes.push_back({block, std::exp2(10 - block)});
    const auto policy = published();
    CHECK(run(platform, *policy, platform.load(100'000, 1, 10)).done);
    const PolicyReport report = policy->report();
    REQUIRE_FALSE(report.distributions.empty());
    double left = 0;
    for (double share : report.distributions[0].shares_units) left += share;
    CHECK(100'000 - left == Approx(20'000).epsilon(0.001));
}

TEST_CASE("plb-hec-published synchronises and solves again when a processor becomes slower") {
    FakePlatform platform = plain_platform({1000, 1000});
    platform.workers[1].drift_at_s = 20;
    platform.workers[1].drift_factor = 2;
    const auto policy = published();
    CHECK(run(platform, *policy, platform.load(200'000, 1, 50)).done);
    CHECK(policy->report().rebalances >= 1);
    CHECK(policy->report().solves >= 2);
}

TEST_CASE("plb-hec-published hands a device its next block when it has finished one") {
    FakePlatform platform = plain_platform({1000, 1000});
    platform.links.push_back({1e6});
    platform.bytes_in_per_unit = platform.bytes_out_per_unit = 100;
    platform.workers[1].link = 0;
    const auto policy = published();
    const FakeRun result = run(platform, *policy, platform.load(100'000));
    REQUIRE(result.done);
    double last_end_s = 0;
    for (const FakeBlock& block : result.blocks) {
        if (block.processor != 1) continue;
        CHECK(block.given_s >= last_end_s);
        last_end_s = block.end_s;
    }
    CHECK(policy->report().models.at(1).transfer != "0 + 0 x");
}

TEST_CASE("plb-hec-published fits a bent curve to its four probes where times are bent") {
    FakePlatform platform = plain_platform({1000, 1000});
    for (FakeWorker& worker : platform.workers)
        worker.seconds = [](double units) { return 1e-3 * units * (1 + units / 8000); };
    const auto policy = published();
    CHECK(run(platform, *policy, platform.load(100'000, 1, 100)).done);
    CHECK(policy->report().models.at(0).formula.find("u") != std::string::npos);
}

TEST_CASE("plb-hec-published fits at a rebalance with all blocks so far") {
    FakePlatform platform = plain_platform({1000, 1000});
    platform.workers[1].drift_at_s = 20;
    platform.workers[1].drift_factor = 2;
    const auto policy = published();
    const FakeRun result = run(platform, *policy, platform.load(200'000, 1, 50));
    const PolicyReport report = policy->report();
    REQUIRE(report.rebalances >= 1);
    const double rebalanced_s = report.distributions.back().at_s;
    for (int p : {0, 1}) {
        int ended = 0;
        for (const FakeBlock& block : result.blocks) ended += block.processor == p && block.end_s <= rebalanced_s;
        CHECK(report.models.at(static_cast<std::size_t>(p)).samples == ended);
    }
}

TEST_CASE("plb-hec-published gives a lost processor nothing more and goes on rebalancing the others") {
    FakePlatform platform = plain_platform({1000, 1000, 1000});
    platform.workers[2].lost_at_s = 20;
    platform.workers[1].drift_at_s = 60;
    platform.workers[1].drift_factor = 3;
    const auto policy = published();
    const FakeRun result = run(platform, *policy, platform.load(300'000, 1, 100));
    REQUIRE(result.done);
    const PolicyReport report = policy->report();
    bool solved_for_loss = false;
    double rebalanced_s = 0;
    for (const PlannedDistribution& distribution : report.distributions) {
        if (distribution.at_s < 20) continue;
        CHECK(distribution.shares_units.at(2) == 0);
        solved_for_loss = solved_for_loss || distribution.reason == "processor lost";
        if (distribution.reason == "rebalance") rebalanced_s = distribution.at_s;
    }
    CHECK(solved_for_loss);
    REQUIRE(rebalanced_s > 60);
    const auto fast = static_cast<double>(units_between(result, 0, rebalanced_s, 1e9));
    const auto slow = static_cast<double>(units_between(result, 1, rebalanced_s, 1e9));
    CHECK(fast > 1.5 * slow);
}

TEST_CASE("a processor that plb-hec-published loses while it probes does not change the probes of the others") {
    FakePlatform platform = plain_platform({4000, 1000, 4000});
    platform.workers[2].lost_at_s = 0.12;  // in the second round
    const auto policy = published();
    std::map<int, std::vector<FakeBlock>> blocks;
    for (const FakeBlock& block : run(platform, *policy, platform.load(100'000, 1, 100)).blocks)
        blocks[block.processor].push_back(block);
    const Units fast[] = {100, 200, 400, 800}, slow[] = {100, 50, 100, 200};
    for (std::size_t round = 0; round < 4; ++round) {
        CHECK(blocks[0][round].units == fast[round]);
        CHECK(blocks[1][round].units == slow[round]);
    }
}
