// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Open loads: units arrive while the load runs. The laws hold for every policy however they arrive.
#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <random>

#include "policies/engine/block_flow.hpp"
#include "test/catch.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;
using test::FakePlatform;
using test::plain_platform;

namespace {

struct Arrival {
    double at_s = 0;
    UnitRange range;
};

struct OpenRun {
    std::vector<Block> blocks;  ///< in the order in which they were handed out
    double makespan_s = 0;
    std::vector<double> busy_s;
    int stalls = 0;
    bool done = false;

    /// Mean part of the makespan in which the processors compute.
    double busy() const {
        double sum = 0;
        for (const double each : busy_s) sum += each;
        return sum / makespan_s / static_cast<double>(busy_s.size());
    }
};

/// Processors without links, in virtual time.
OpenRun run_open(const FakePlatform& platform, Policy& policy, LoadDescription load,
                 const std::vector<Arrival>& arrivals) {
    using Event = std::tuple<double, int, std::size_t>;  ///< when; 0: units arrive, 1: a block ends; which
    load.open = true;
    BlockFlow flow(load, policy);
    OpenRun run;
    run.busy_s.assign(platform.workers.size(), 0);
    std::vector<double> free_s(platform.workers.size(), 0), starts_s;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    for (std::size_t a = 0; a < arrivals.size(); ++a) events.emplace(arrivals[a].at_s, 0, a);
    const auto accept = [&](const std::vector<Block>& blocks, double now_s) {
        for (const Block& block : blocks) {
            const auto p = static_cast<std::size_t>(block.processor);
            const double start_s = std::max(now_s, free_s[p]);
            const double seconds = platform.workers[p].seconds(static_cast<double>(block.units));
            free_s[p] = start_s + seconds;
            run.busy_s[p] += seconds;
            events.emplace(free_s[p], 1, run.blocks.size());
            run.blocks.push_back(block);
            starts_s.push_back(start_s);
        }
    };
    accept(flow.ask_all(0), 0);
    while (!events.empty()) {
        const auto [now_s, kind, which] = events.top();
        events.pop();
        if (kind == 0) {
            accept(flow.add(arrivals[which].range, now_s), now_s);
            continue;
        }
        run.makespan_s = now_s;
        const Block block = run.blocks[which];
        accept(flow.finished(block.id, starts_s[which], now_s, now_s - starts_s[which], now_s), now_s);
    }
    run.stalls = flow.stalls();
    run.done = flow.done();
    return run;
}

void require_each_unit_once(const OpenRun& run, Units units) {
    std::map<Units, Units> ranges;
    for (const Block& block : run.blocks) REQUIRE(ranges.emplace(block.first, block.units).second);
    Units next = 0;
    for (const auto& [first, count] : ranges) {
        REQUIRE(first == next);
        next = first + count;
    }
    REQUIRE(next == units);
}

/// In pieces of one to three tenths, each of which comes at any time in the first two seconds.
std::vector<Arrival> random_arrivals(Units units, Units granularity, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Arrival> arrivals;
    for (Units first = 0; first < units;) {
        const double part = std::uniform_real_distribution<>(0.1, 0.3)(random);
        const Units piece =
            std::min(units - first, round_to_granularity(part * static_cast<double>(units), granularity));
        arrivals.push_back({std::uniform_real_distribution<>(0, 2)(random), {first, piece}});
        first += piece;
    }
    std::ranges::sort(arrivals, {}, &Arrival::at_s);
    return arrivals;
}

/// Unlike processors, where the policy takes such.
FakePlatform platform_for(const PolicyEntry& entry) {
    FakePlatform platform = plain_platform({1000, 3000, 10000}, 1e-3);
    if (entry.identical_processors)
        for (std::size_t w = 1; w < platform.workers.size(); ++w) {
            platform.workers[w].kind = 0;
            platform.workers[w].seconds = platform.workers[0].seconds;
        }
    return platform;
}

}  // namespace

TEST_CASE("every policy computes each unit of an open load once, however they arrive, in every run") {
    for (const PolicyEntry& entry : registered_policies())
        for (const Units units : {1, 7, 1000, 20000})
            for (const Units granularity : {1, 8})
                for (const unsigned seed : {1u, 2u, 3u}) {
                    if (granularity > units) continue;
                    INFO(entry.name << ", " << units << " units, granularity " << granularity << ", seed " << seed);
                    const FakePlatform platform = platform_for(entry);
                    const auto policy = entry.make();
                    LoadDescription load = platform.load(units, granularity);
                    for (load.run = 1; load.run <= 3; ++load.run) {
                        const OpenRun result =
                            run_open(platform, *policy, load, random_arrivals(units, granularity, seed));
                        INFO("run " << load.run);
                        REQUIRE(result.done);
                        require_each_unit_once(result, units);
                    }
                }
}

TEST_CASE("an open load to which nothing is handed over is done") {
    for (const PolicyEntry& entry : registered_policies()) {
        INFO(entry.name);
        const FakePlatform platform = platform_for(entry);
        const auto policy = entry.make();
        const OpenRun result = run_open(platform, *policy, platform.load(100), {});
        CHECK(result.done);
        CHECK(result.blocks.empty());
    }
}

TEST_CASE(
    "models are kept across grants: with the next grant there before the last is computed, processors hardly wait") {
    // Sixteen grants, each there when half of the one before can be computed: a grant that ended in a tail, or began
    // with probes, would leave the fast processor idle.
    const FakePlatform platform = plain_platform({1000, 3000, 10000}, 1e-4);
    const Units units = 160000, grant = units / 16;
    std::vector<Arrival> arrivals;
    for (Units k = 0; k < 16; ++k)
        arrivals.push_back(
            {std::max(0.0, static_cast<double>(k) - 1.5) * static_cast<double>(grant) / 14000, {k * grant, grant}});
    for (const char* name : {"plb-hec", "hpopta", "fpm", "auto", "fpm-dynamic", "af", "awf-c"}) {
        const auto policy = find_policy(name)->make();
        LoadDescription load = platform.load(units);
        for (load.run = 1; load.run <= 2; ++load.run) {
            INFO(name << ", run " << load.run);
            const OpenRun result = run_open(platform, *policy, load, arrivals);
            REQUIRE(result.done);
            CHECK(result.busy() > 0.93);
        }
    }
}

TEST_CASE("plb-hec plans again for units that arrive at the same moment as others") {
    const FakePlatform platform = plain_platform({1000, 3000, 10000}, 1e-4);
    const auto policy = find_policy("plb-hec")->make();
    run_open(platform, *policy, platform.load(20000), {{0, {0, 20000}}});  // so that the processors are known
    const OpenRun result = run_open(platform, *policy, platform.load(14000), {{0, {0, 1}}, {0, {1, 13999}}});
    REQUIRE(result.done);
    // The others need not wait until the one to which the first unit was given is done with it.
    CHECK(result.blocks.at(0).units == 1);
    CHECK(result.blocks.at(1).processor != result.blocks.at(0).processor);
    CHECK(result.blocks.at(2).processor != result.blocks.at(0).processor);
}

TEST_CASE("plb-hec does not repeat the blocks of an open load's first run because units of the second came later") {
    const FakePlatform platform = plain_platform({1000, 3000, 10000}, 1e-3);
    const auto policy = find_policy("plb-hec")->make();
    LoadDescription load = platform.load(14000);
    load.staying = 1;
    const OpenRun first = run_open(platform, *policy, load, {{0, {0, 14000}}});
    for (load.run = 2; load.run <= 4; ++load.run) {
        const OpenRun later = run_open(platform, *policy, load, {{5, {0, 14000}}});
        INFO("run " << load.run);
        REQUIRE(later.done);
        CHECK(later.blocks.size() < first.blocks.size());
    }
}

TEST_CASE("who has not told yet is not believed either where the record was wrong of two others") {
    const LoadDescription load = plain_platform({1000, 1000, 1000}, 1e-3).load(100'000);
    const FakePlatform real = plain_platform({1000.0 / 3, 1000.0 / 3, 1}, 1e-3);
    std::vector<Arrival> arrivals;
    for (Units k = 0; k < 100; ++k) arrivals.push_back({static_cast<double>(k), {k * 1000, 1000}});
    const OpenRun result = run_open(real, *find_policy("auto")->make(), load, arrivals);
    REQUIRE(result.done);
    CHECK(result.makespan_s < 1.05 * 100'000 / 667.0);
}

TEST_CASE("equal shares out what arrives") {
    const FakePlatform platform = plain_platform({1000, 1000, 1000, 1000});
    const auto policy = find_policy("equal")->make();
    const OpenRun result = run_open(platform, *policy, platform.load(1000), {{0, {0, 400}}, {0.01, {400, 600}}});
    std::vector<Units> units(4, 0);
    for (const Block& block : result.blocks) units[static_cast<std::size_t>(block.processor)] += block.units;
    CHECK(units == std::vector<Units>{250, 250, 250, 250});
    CHECK(result.blocks.size() == 8);
}
