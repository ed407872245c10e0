// SPDX-License-Identifier: LGPL-2.1-or-later
//
// plb-hec while little is known: who computes a first block when, how large it is, and what a late one tells.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "policies/shared/nothing_in_flight.hpp"
#include "test/catch.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

std::unique_ptr<Policy> improved() { return find_policy("plb-hec")->make(); }

/// Two cards that need `card_fixed_s` a block and three cores of one kind.
FakePlatform cards_and_cores(double card_fixed_s, double core_s) {
    FakePlatform platform;
    platform.links = {{1e12}};
    platform.bytes_in_per_unit = platform.bytes_out_per_unit = 1;
    for (int k = 0; k < 2; ++k)
        platform.workers.push_back(
            {"card", 1, [=](double units) { return card_fixed_s + 1e-5 * units; }, 0, 1e-6, kNoLimit, kNoLimit});
    for (int k = 0; k < 3; ++k) platform.workers.push_back({"core", 0, [=](double units) { return core_s * units; }});
    return platform;
}

}  // namespace

TEST_CASE("beside devices one core of a kind tries the smallest block at once, and the others wait for what it tells") {
    FakePlatform platform = cards_and_cores(1e-3, 0.02);
    platform.stall_factor = 50;
    const FakeRun result = run(platform, *improved(), platform.load(400'000));
    CHECK(result.done);
    std::vector<FakeBlock> of_cores;
    for (const FakeBlock& block : result.blocks)
        if (block.processor >= 2) of_cores.push_back(block);
    std::sort(of_cores.begin(), of_cores.end(), [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
    REQUIRE(of_cores.size() > 3);
    CHECK(of_cores[0].units == 1);
    CHECK(of_cores[0].start_s == 0);
    CHECK(of_cores[1].start_s >= of_cores[0].end_s);
    for (int core = 2; core < 5; ++core) CHECK(result.units_of(core) > 20);
}

TEST_CASE("a core that needs longer for the smallest block than devices for all costs them its unit alone") {
    FakePlatform platform = cards_and_cores(1e-3, 0.5);
    platform.stall_factor = 50;
    const FakeRun result = run(platform, *improved(), platform.load(4000));
    CHECK(result.done);
    CHECK(result.pieces == 0);
    CHECK(result.given_up == 1);
    for (int core = 2; core < 5; ++core) CHECK(result.units_of(core) == 0);
    CHECK(result.makespan_s < 0.025);
}

TEST_CASE("a device that is far too slow, or hangs, with one of two units keeps nobody waiting") {
    for (const bool hangs : {false, true}) {
        FakePlatform platform = cards_and_cores(1e-2, 1);
        platform.workers.resize(2);
        platform.workers[0].seconds = [](double units) { return 0.9 * units; };
        if (hangs) platform.workers[0].silent_at_s = 0;
        platform.stall_factor = 50;
        const FakeRun result = run(platform, *improved(), platform.load(2));
        CHECK(result.done);
        CHECK(result.units_of(1) == 2);
        CHECK(result.makespan_s < 0.05);
    }
}

TEST_CASE("what a late block took after all is known in the next run") {
    const FakePlatform platform = cards_and_cores(1e-3, 1e-3);
    const LoadDescription load = platform.load(4000);
    const auto policy = improved();
    policy->begin(load);
    policy->late_block_ended(0, 10, 5);
    policy->begin(load);
    const auto models = policy->report().models;
    CHECK(models[0].formula == "0.5 x");
    CHECK(models[0].samples == 1);
    CHECK(models[2].samples == 0);
}

TEST_CASE("a core whose block others took over has tried for its kind; one that computes for another load has not") {
    const FakePlatform platform = cards_and_cores(1e-3, 0.5);
    const LoadDescription load = platform.load(4000);
    for (const bool own : {true, false}) {
        const auto policy = improved();
        policy->begin(load);
        const NothingInFlight progress(load.units);
        if (own) CHECK(policy->next_block(2, 0, progress) == 1);
        policy->processor_lost(2);
        CHECK(policy->next_block(3, 0.001, progress) == (own ? 0 : 1));
    }
}

TEST_CASE("plb-hec does without who is lost, and plans with it again when it is back") {
    const FakePlatform platform = cards_and_cores(1e-3, 1e-3);
    const LoadDescription load = platform.load(4000);
    const auto policy = improved();
    REQUIRE(run(platform, *policy, load).done);
    policy->begin(load);
    policy->processor_lost(0);
    const NothingInFlight progress(load.units);
    CHECK(policy->next_block(0, 0.001, progress) == 0);
    policy->processor_is_back(0);
    CHECK(policy->next_block(0, 0.002, progress) > 0);
}

TEST_CASE("who computes alone pays fixed costs once more after its first block, and again only to hide transfers") {
    for (const bool device : {false, true}) {
        INFO((device ? "device" : "core"));
        FakePlatform platform = plain_platform({1e6}, 2);
        if (device) {
            platform.links.push_back({1e6});
            platform.bytes_in_per_unit = 1;
            platform.workers[0].link = 0;
        }
        const auto policy = improved();
        const FakeRun result = run(platform, *policy, platform.load(8000));
        CHECK(result.done);
        CHECK(result.blocks.size() == 2);
        platform.workers[0].seconds = [](double units) { return 1e-6 * (1 + units); };  // as long as the transfers
        const FakeRun overlapped = run(platform, *improved(), platform.load(8000));
        CHECK(overlapped.makespan_s < (device ? 0.012 : 0.0081));
    }
}

TEST_CASE("a device's first block is no more than its link brings before others end all that there is") {
    // The cores need 4 s. The 20 units that come by default take 4000 s, 8 s and 1.6 s on the link.
    for (const auto& [bytes_per_s, least, most] :
         {std::tuple<double, Units, Units>{0.01, 0, 0}, {5, 5, 15}, {25, 20, 20}}) {
        INFO(bytes_per_s << " bytes a second");
        FakePlatform platform = cards_and_cores(1e-3, 3e-3);
        platform.workers.erase(platform.workers.begin());
        platform.links = {{bytes_per_s}};
        platform.links_known = true;
        platform.stall_factor = 50;
        const FakeRun result = run(platform, *improved(), platform.load(4000, 1, 20));
        CHECK(result.done);
        CHECK(result.makespan_s < 6);
        Units first = 0;
        for (const FakeBlock& block : result.blocks)
            if (block.processor == 0 && first == 0) first = block.units;
        CHECK(first >= least);
        CHECK(first <= most);
    }
}

TEST_CASE("cards of a kind begin with different numbers of units as far as the link brings them in its latency") {
    LoadDescription load;
    load.units = 100'000;
    load.initial_block = 4;
    const auto firsts = [&](double latency_s) {
        load.processors.clear();
        load.links.clear();
        for (int card = 0; card < 4; ++card) {
            load.processors.push_back({.name = "card " + std::to_string(card), .kind = 1, .own_memory = true});
            load.links.push_back({{latency_s, 1e-3}, {latency_s, 1e-3}});
        }
        const auto policy = improved();
        policy->begin(load);
        const NothingInFlight progress(load.units);
        std::vector<Units> units;
        for (int card = 0; card < 4; ++card) units.push_back(policy->next_block(card, 0, progress));
        return units;
    };
    CHECK(firsts(1) == std::vector<Units>{391, 782, 1564, 1564});
    CHECK(firsts(2e-3) == std::vector<Units>{4, 8, 8, 8});  // two sizes tell what is fixed
}

TEST_CASE("a device whose larger block took no longer gets one as after blocks of one size") {
    FakePlatform platform;
    platform.links = {{1e9}};
    platform.bytes_in_per_unit = platform.bytes_out_per_unit = 1000;
    platform.links_known = true;
    for (const double fixed_s : {1.01, 1.0}) {
        const auto seconds = [=](double units) { return fixed_s + std::max(0.0, units - 4000) * 1e-5; };
        platform.workers.push_back({"card", 1, seconds, 0, 1e-3, kNoLimit, kNoLimit});
    }
    const FakeRun result = run(platform, *improved(), platform.load(100'000));
    const auto second = std::ranges::find_if(
        result.blocks, [](const FakeBlock& block) { return block.processor == 0 && block.given_s > 0; });
    REQUIRE(second != result.blocks.end());
    CHECK(second->units > 8 * 1562);
    CHECK(result.units_of(0) > 40'000);
}

TEST_CASE("dear units behind many cheap ones are in several blocks of a first run") {
    constexpr Units kUnits = 1000;
    std::vector<double> before(kUnits + 1, 0);
    for (std::size_t u = 0; u < kUnits; ++u)
        before[u + 1] = before[u] + 1 + 50 * std::exp(-std::pow((static_cast<double>(u) / kUnits - 0.4) / 0.08, 2));
    for (const int cores : {2, 8}) {
        FakePlatform platform = plain_platform(std::vector<double>(static_cast<std::size_t>(cores), 1e4), 1e-6);
        platform.work = [&](Units first, Units units) {
            return before[static_cast<std::size_t>(first + units)] - before[static_cast<std::size_t>(first)];
        };
        const FakeRun result = run(platform, *improved(), platform.load(kUnits));
        INFO(cores << " cores: " << result.makespan_s << " s, blocks " << result.blocks.size());
        CHECK(result.makespan_s < 1.2 * before.back() / (1e4 * cores));
    }
}

TEST_CASE("a core tries twice where its first block took longer than a larger one") {
    constexpr Units kUnits = 400'000;
    FakePlatform platform = cards_and_cores(1e-3, 1e-3);
    platform.stall_factor = 50;
    SECTION("units cost the more, the later they are") {
        platform.work = [](Units first, Units units) {
            const auto until = [](Units unit) { return std::pow(static_cast<double>(unit), 2) / kUnits; };
            return until(first + units) - until(first);
        };
        const auto policy = improved();
        const FakeRun result = run(platform, *policy, platform.load(kUnits));
        CHECK(result.done);
        CHECK(result.trials > 5);
        CHECK_THAT(policy->report().note, ContainsSubstring("units unlike"));
        CHECK(result.makespan_s < 1.3 * platform.lower_bound_s(kUnits));
    }
    SECTION("each core's first block takes ten times as long") {
        for (FakeWorker& worker : platform.workers)
            if (worker.link < 0)
                worker.takes = [first = true](double, double seconds) mutable {
                    return std::exchange(first, false) ? 0.05 : seconds;
                };
        const auto policy = improved();
        const FakeRun result = run(platform, *policy, platform.load(kUnits));
        CHECK(result.done);
        CHECK(policy->report().note == "");
        CHECK(result.makespan_s < 1.1 * platform.lower_bound_s(kUnits));
    }
}

TEST_CASE("a core that computes units forty times as dear as its first one does not hang") {
    constexpr Units kUnits = 49;
    FakePlatform platform = plain_platform({1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 6518, 111508, 19010}, 1e-4);
    for (std::size_t p = 9; p < 12; ++p) {
        platform.workers[p].kind = static_cast<int>(p);
        platform.workers[p].link = 0;
    }
    platform.links = {{1e10}};
    platform.stall_factor = 50;
    platform.work = [](Units first, Units units) {
        double work = 0;
        for (Units unit = first; unit < first + units; ++unit) work += static_cast<double>(kUnits - unit) - 0.5;
        return 1216 * work;
    };
    const FakeRun result = run(platform, *improved(), platform.load(kUnits));
    CHECK(result.done);
    CHECK_FALSE(result.stuck);
}
