// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What every registered policy must do, whatever it decides.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/catch.hpp"
#include "test/fake_platform.hpp"
#include "test/sanitized.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

/// Each unit exactly once; blocks positive, multiples of the granularity except where the last units are. Asserts per
/// run, as one assertion for each of so many blocks takes longer than all the rest.
void check_cover(const FakeRun& result, Units units, Units granularity) {
    REQUIRE(result.done);
    std::vector<std::pair<Units, Units>> ranges;
    for (const FakeBlock& block : result.blocks) {
        const bool last = block.first + block.units == units;
        if (block.units <= 0 || block.first % granularity != 0 || (!last && block.units % granularity != 0))
            FAIL("a block of " << block.units << " units from " << block.first << " on");
        ranges.emplace_back(block.first, block.units);
    }
    std::sort(ranges.begin(), ranges.end());
    Units next = 0;
    for (const auto& [first, count] : ranges) {
        if (first != next) FAIL("a block begins at " << first << " where " << next << " is next");
        next = first + count;
    }
    REQUIRE(next == units);
}

bool fits_memories(const FakeRun& result, const FakePlatform& platform) {
    return std::all_of(result.blocks.begin(), result.blocks.end(), [&](const FakeBlock& block) {
        return block.units <= platform.workers[static_cast<std::size_t>(block.processor)].memory_units;
    });
}

std::vector<double> speeds_of(int processors) {
    std::vector<double> speeds;
    for (int p = 0; p < processors; ++p) speeds.push_back(1000.0 * (1 + p % 3));
    return speeds;
}

/// CPU workers, two devices with their own memory behind one link, fixed costs per block.
FakePlatform mixed_platform() {
    FakePlatform platform = plain_platform({100, 100, 100}, 1e-4);
    for (FakeWorker& worker : platform.workers) worker.kind = 0;
    platform.links.push_back({1e6});
    platform.bytes_in_per_unit = platform.bytes_out_per_unit = 10;
    for (int d = 0; d < 2; ++d) {
        FakeWorker device;
        device.name = "device " + std::to_string(d);
        device.kind = 1 + d;
        device.link = 0;
        device.latency_s = 1e-4;
        device.memory_units = 500;
        device.physical_units = 700;
        device.seconds = [d](double units) { return 2e-3 + units / (2000.0 * (d + 1)); };
        platform.workers.push_back(device);
    }
    return platform;
}

/// What the policy runs on: every platform, unless it is one that refuses unlike processors. That it does so is checked
/// here, and it then has to obey the laws on a platform of copies of the first worker.
FakePlatform suited(const PolicyEntry& entry, FakePlatform platform) {
    const bool alike = std::all_of(platform.workers.begin(), platform.workers.end(), [&](const FakeWorker& worker) {
        return worker.kind == platform.workers.front().kind;
    });
    if (!entry.identical_processors || alike) return platform;
    const auto policy = entry.make();
    REQUIRE_THROWS_AS(run(platform, *policy, platform.load(100)), PolicyError);
    for (FakeWorker& worker : platform.workers) {
        const FakeWorker original = worker;
        worker = platform.workers.front();
        worker.name = original.name;
        worker.noise = original.noise;
        worker.spikes = original.spikes;
        worker.drift_at_s = original.drift_at_s;
        worker.drift_factor = original.drift_factor;
        worker.lost_at_s = original.lost_at_s;
    }
    return platform;
}

bool same_blocks(const FakeRun& a, const FakeRun& b) {
    return std::equal(a.blocks.begin(), a.blocks.end(), b.blocks.begin(), b.blocks.end(),
                      [](const FakeBlock& x, const FakeBlock& y) {
                          return x.processor == y.processor && x.first == y.first && x.units == y.units;
                      });
}

}  // namespace

TEST_CASE("names and descriptions of policies are unique and not empty") {
    std::set<std::string> names, descriptions;
    for (const PolicyEntry& entry : registered_policies()) {
        CHECK_FALSE(std::string(entry.name).empty());
        CHECK_FALSE(std::string(entry.description).empty());
        CHECK(names.insert(entry.name).second);
        CHECK(descriptions.insert(entry.description).second);
        CHECK(find_policy(entry.name) == &entry);
    }
    CHECK(names.size() >= 3);
    CHECK(find_policy("no such policy") == nullptr);
}

TEST_CASE("every policy hands out each unit exactly once at every size") {
    for (const PolicyEntry& entry : registered_policies())
        for (Units units : {0, 1, 3, 7, 16, 99, 1000, 1'000'000})
            for (int processors : {1, 2, 7})
                for (Units granularity : {1, 8}) {
                    INFO(entry.name << ": " << units << " units, " << processors << " processors, granularity "
                                    << granularity);
                    const FakePlatform platform = suited(entry, plain_platform(speeds_of(processors), 1e-5));
                    const auto policy = entry.make();
                    check_cover(run(platform, *policy, platform.load(units, granularity)), units, granularity);
                }
}

TEST_CASE("every policy copes with links, memories and identical processors") {
    for (const PolicyEntry& entry : registered_policies())
        for (Units units : {1, 7, 99, 1000, 30'000})
            for (Units granularity : {1, 8}) {
                INFO(entry.name << ": " << units << " units, granularity " << granularity);
                const FakePlatform platform = suited(entry, mixed_platform());
                const auto policy = entry.make();
                const FakeRun result = run(platform, *policy, platform.load(units, granularity));
                check_cover(result, units, granularity);
                CHECK(fits_memories(result, platform));
                CHECK(result.stalls == 0);
            }
}

TEST_CASE("equal times give equal blocks") {
    FakePlatform mixed = mixed_platform();
    for (FakeWorker& worker : mixed.workers) worker.noise = 0.03;
    for (const PolicyEntry& entry : registered_policies()) {
        INFO(entry.name);
        const FakePlatform platform = suited(entry, mixed);
        const auto first = entry.make(), second = entry.make();
        CHECK(same_blocks(run(platform, *first, platform.load(20'000)), run(platform, *second, platform.load(20'000))));
    }
}

TEST_CASE("every policy finishes under noise, spikes and drift") {
    for (const PolicyEntry& entry : registered_policies())
        for (unsigned seed = 1; seed <= 5; ++seed) {
            INFO(entry.name << ", seed " << seed);
            FakePlatform platform = suited(entry, mixed_platform());
            platform.seed = seed;
            for (FakeWorker& worker : platform.workers) worker.noise = 0.1;
            platform.workers[0].spikes = {{0, 10}, {3, 5}};
            platform.workers[4].drift_at_s = 1;
            platform.workers[4].drift_factor = 3;
            const auto policy = entry.make();
            check_cover(run(platform, *policy, platform.load(20'000)), 20'000, 1);
        }
}

TEST_CASE("under every policy others compute what a device is late with, and each unit counts once") {
    for (const PolicyEntry& entry : registered_policies())
        for (std::size_t slow : {3u, 4u})
            for (int block : {0, 1, 2, 5}) {
                INFO(entry.name << ", block " << block << " of worker " << slow);
                FakePlatform platform = suited(entry, mixed_platform());
                if (platform.workers[slow].link < 0) continue;  // all work in main memory, and are waited for
                platform.workers[slow].spikes = {{block, 1e6}};
                const auto policy = entry.make(), patient = entry.make();
                const FakeRun waited = run(platform, *patient, platform.load(20'000));
                check_cover(waited, 20'000, 1);
                platform.stall_factor = 50;
                const FakeRun result = run(platform, *policy, platform.load(20'000));
                check_cover(result, 20'000, 1);
                CHECK(result.makespan_s <= waited.makespan_s * (1 + 1e-9));
                CHECK(fits_memories(result, platform));
                if (waited.makespan_s > 1e4) CHECK(result.makespan_s < waited.makespan_s / 4);
                check_cover(run(platform, *policy, platform.load(20'000)), 20'000, 1);
            }
}

TEST_CASE("under every policy a device may die at any time without a word, and each unit counts once") {
    for (const PolicyEntry& entry : registered_policies())
        for (double silent_at_s : {0.0, 0.01, 0.3, 2.0, 4.0}) {
            INFO(entry.name << ", silent at " << silent_at_s);
            FakePlatform platform = suited(entry, mixed_platform());
            std::size_t device = 0;
            while (device < platform.workers.size() && platform.workers[device].link < 0) ++device;
            if (device == platform.workers.size()) continue;  // all work in main memory, and are waited for
            platform.stall_factor = 50;
            platform.workers[device].silent_at_s = silent_at_s;
            const auto policy = entry.make();
            check_cover(run(platform, *policy, platform.load(20'000)), 20'000, 1);
        }
}

TEST_CASE(
    "under every policy who still computes something for nobody gets nothing until it is free, and all units end") {
    constexpr double kNever_s = 1e6;
    for (const PolicyEntry& entry : registered_policies())
        for (const double free_at_s : {1e-4, 0.3, 2.0, kNever_s})
            for (const std::size_t who : {0u, 4u}) {
                INFO(entry.name << ", worker " << who << " is free at " << free_at_s);
                FakePlatform platform = suited(entry, mixed_platform());
                platform.workers[who].free_at_s = free_at_s;
                const auto policy = entry.make();
                const FakeRun result = run(platform, *policy, platform.load(20'000));
                check_cover(result, 20'000, 1);
                for (const FakeBlock& block : result.blocks)
                    if (block.processor == static_cast<int>(who)) CHECK(block.given_s >= free_at_s * (1 - 1e-9));
                platform.workers[who].free_at_s = 0;
                const auto healthy = entry.make(), without = entry.make();
                const double with_s = run(platform, *healthy, platform.load(20'000)).makespan_s;
                platform.workers[who].lost_at_s = 0;
                const double without_s = run(platform, *without, platform.load(20'000)).makespan_s;
                const double late_s = free_at_s < kNever_s ? free_at_s + 1.1 * with_s : 0;
                CHECK(result.makespan_s <= std::max(late_s, 2.5 * without_s));  // the blocks grow in other steps
            }
}

TEST_CASE("under every policy what waits behind what a processor computes for nobody is for others, and counts once") {
    for (const PolicyEntry& entry : registered_policies())
        for (const double occupied_at_s : {0.01, 0.3, 2.0})
            for (const double free_at_s : {occupied_at_s + 0.5, 1e6})
                for (const std::size_t who : {0u, 4u}) {
                    INFO(entry.name << ", worker " << who << " from " << occupied_at_s << " to " << free_at_s);
                    FakePlatform platform = suited(entry, mixed_platform());
                    platform.workers[who].occupied_at_s = occupied_at_s;
                    platform.workers[who].free_at_s = free_at_s;
                    const auto policy = entry.make();
                    const FakeRun result = run(platform, *policy, platform.load(20'000));
                    check_cover(result, 20'000, 1);
                    CHECK(result.makespan_s < 1e6);
                }
}

TEST_CASE("under every policy the first to become free goes on where all still compute something for nobody") {
    for (const PolicyEntry& entry : registered_policies()) {
        INFO(entry.name);
        FakePlatform platform = suited(entry, mixed_platform());
        for (std::size_t w = 0; w < platform.workers.size(); ++w) platform.workers[w].free_at_s = w == 1 ? 0.3 : 1e6;
        const auto policy = entry.make();
        const FakeRun result = run(platform, *policy, platform.load(20'000));
        check_cover(result, 20'000, 1);
        CHECK(result.units_of(1) == 20'000);
        CHECK(result.makespan_s < 1e6);
    }
}

TEST_CASE("recovery makes no run on a healthy machine longer, and mostly does nothing there") {
    for (const PolicyEntry& entry : registered_policies())
        for (unsigned seed = 1; seed <= cases_of(5); ++seed)
            for (const double noise : {0.0, 0.03, 0.1}) {
                INFO(entry.name << ", seed " << seed << ", noise " << noise);
                FakePlatform platform = suited(entry, mixed_platform());
                platform.seed = seed;
                for (FakeWorker& worker : platform.workers) worker.noise = noise;
                const auto with = entry.make(), without = entry.make();
                for (int submission = 0; submission < 3; ++submission) {
                    platform.stall_factor = 50;
                    const FakeRun watched = run(platform, *with, platform.load(20'000));
                    platform.stall_factor = 0;
                    const FakeRun alone = run(platform, *without, platform.load(20'000));
                    CHECK(watched.makespan_s <= alone.makespan_s * (1 + 1e-9));
                    // What was computed again, or is free while it is tried, makes others' blocks other ones, and what
                    // comes then begins with other knowledge.
                    if (watched.pieces > 0 || watched.trials > 0) break;
                    CHECK(same_blocks(watched, alone));
                }
            }
}

TEST_CASE("under every policy each unit counts once when all processors are late now and then, and one is lost") {
    int pieces = 0, dropped = 0, given_up = 0;
    for (const PolicyEntry& entry : registered_policies())
        for (unsigned seed = 1; seed <= 10; ++seed)
            for (Units granularity : {1, 8}) {
                INFO(entry.name << ", seed " << seed << ", granularity " << granularity);
                FakePlatform platform = suited(entry, mixed_platform());
                platform.seed = seed;
                platform.stall_factor = 50;
                for (std::size_t w = 0; w < platform.workers.size(); ++w) {
                    platform.workers[w].noise = 0.5;
                    if (platform.workers[w].link < 0) continue;
                    for (int block = static_cast<int>((seed + w) % 3); block < 40; block += 3)
                        platform.workers[w].spikes.push_back({block, 30});
                }
                if (seed % 2 == 0) platform.workers[seed % 5].lost_at_s = 0.5 * seed;
                const auto policy = entry.make();
                const FakeRun result = run(platform, *policy, platform.load(20'003, granularity));
                check_cover(result, 20'003, granularity);
                pieces += result.pieces;
                dropped += result.dropped;
                given_up += result.given_up;
            }
    CHECK(dropped > 0);  // all that can happen to late blocks did
    CHECK(pieces > dropped);
    CHECK(given_up > 0);
}

TEST_CASE("a policy can run a load again, and another one after it") {
    for (const PolicyEntry& entry : registered_policies()) {
        INFO(entry.name);
        const FakePlatform platform = suited(entry, mixed_platform()), other = suited(entry, plain_platform({50, 500}));
        const auto policy = entry.make();
        check_cover(run(platform, *policy, platform.load(20'000)), 20'000, 1);
        check_cover(run(platform, *policy, platform.load(20'000)), 20'000, 1);
        check_cover(run(other, *policy, other.load(777)), 777, 1);
    }
}

TEST_CASE("a link that is all latency carries blocks without data") {
    FakePlatform platform = plain_platform({1000});
    platform.links = {{1e9}};
    platform.workers[0].link = 0;
    platform.workers[0].latency_s = 1e-3;
    const FakeRun result = run(platform, *find_policy("greedy")->make(), platform.load(1000));
    CHECK(result.done);
    CHECK(result.units_of(0) == 1000);
}
