// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cmath>
#include <random>

#include "test/catch.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

std::unique_ptr<Policy> improved() { return find_policy("plb-hec")->make(); }

double ideal_s(const std::vector<double>& speeds, Units units) {
    double sum = 0;
    for (double speed : speeds) sum += speed;
    return static_cast<double>(units) / sum;
}

double greedy_best_s(const FakePlatform& platform, Units units) {
    double best_s = 1e300;
    for (double block = 1; block <= static_cast<double>(units); block *= 1.19) {
        const auto greedy = find_policy("greedy")->make();
        const Units size = static_cast<Units>(std::lround(block));
        best_s = std::min(best_s, run(platform, *greedy, platform.load(units, 1, size)).makespan_s);
    }
    return best_s;
}

}  // namespace

TEST_CASE("shares of plb-hec are as the speeds and the makespan is near the ideal") {
    const std::vector<double> speeds = {4000, 1000};
    const FakePlatform platform = plain_platform(speeds, 1e-4);
    for (const bool published : {false, true}) {
        INFO((published ? "published" : "improved"));
        const auto policy = find_policy(published ? "plb-hec-published" : "plb-hec")->make();
        const FakeRun result = run(platform, *policy, platform.load(100'000));
        const double ratio = static_cast<double>(result.units_of(0)) / static_cast<double>(result.units_of(1));
        CHECK(ratio == Approx(4).epsilon(0.1));
        CHECK(result.makespan_s < (published ? 1.3 : 1.02) * ideal_s(speeds, 100'000));
    }
}

TEST_CASE("on PLB-HeC's machines plb-hec is near the lower bound and ahead of every greedy") {
    const FakePlatform platform = plb_hec_machines("ABCD", 65536);
    const auto policy = improved();
    const LoadDescription load = platform.load(65536);
    const FakeRun result = run(platform, *policy, load);
    CHECK(result.makespan_s <= 1.3 * platform.lower_bound_s(65536));
    const auto greedy = find_policy("greedy")->make();
    CHECK(run(platform, *greedy, load).makespan_s >= 2.2 * result.makespan_s);
    const auto published = find_policy("plb-hec-published")->make();
    CHECK(run(platform, *published, load).makespan_s > result.makespan_s);
}

TEST_CASE("plb-hec is never more than 3 % behind the best greedy on any of PLB-HeC's machines and sizes") {
    for (const char* machines : {"A", "AB", "ABC", "ABCD"})
        for (Units order : {4096, 8192, 16384, 32768, 65536}) {
            INFO(machines << " " << order);
            const FakePlatform platform = plb_hec_machines(machines, order);
            const auto policy = improved();
            const double makespan_s = run(platform, *policy, platform.load(order)).makespan_s;
            CHECK(makespan_s <= 1.03 * greedy_best_s(platform, order));
        }
}

TEST_CASE(
    "IPOPT decides plb-hec's distributions that last a hundred times as long as it takes, the bisection shorter ones") {
    const FakePlatform platform = plain_platform({4000, 1000}, 1e-4);
    for (const auto& [units, by_ipopt] : {std::pair<Units, bool>{100'000, true}, {2000, true}, {200, false}}) {
        INFO(units << " units");
        const auto policy = improved();
        CHECK(run(platform, *policy, platform.load(units)).done);
        const PolicyReport report = policy->report();
        CHECK((report.solves > 0) == by_ipopt);
        CHECK((report.bisections > 0) == !by_ipopt);
        CHECK(report.solver_difference < 1e-5);
    }
}

TEST_CASE("plb-hec asks IPOPT a bounded number of times") {
    const FakePlatform platform = plb_hec_machines("ABCD", 65536);
    const auto policy = improved();
    run(platform, *policy, platform.load(65536));
    CHECK(policy->report().solves >= 1);
    CHECK(policy->report().solves <= 5);
    CHECK(policy->report().solver_fallbacks == 0);
}

TEST_CASE("plb-hec sets a spike aside and keeps its shares") {
    const std::vector<double> speeds = {1000, 1000};
    FakePlatform platform = plain_platform(speeds, 1e-3);
    const auto undisturbed = improved();
    const double without_s = run(platform, *undisturbed, platform.load(100'000)).makespan_s;
    CHECK(undisturbed->report().discarded_samples == 0);
    platform.workers[0].spikes = {{3, 1.5}};
    const auto policy = improved();
    const FakeRun result = run(platform, *policy, platform.load(100'000));
    CHECK(policy->report().rebalances == 0);
    CHECK(result.makespan_s < 1.25 * without_s);
}

TEST_CASE("plb-hec rebalances when the largest processor becomes three times slower, whenever that is") {
    struct Case {
        FakePlatform platform;
        Units units;
        std::size_t largest;
    };
    std::vector<Case> cases = {{plain_platform({4000, 1000, 1000, 500}, 1e-3), 200'000, 0},
                               {plb_hec_machines("ABCD", 65536), 65536, 0}};
    cases[1].largest = cases[1].platform.workers.size() - 1;
    for (auto& [platform, units, largest] : cases) {
        const auto undisturbed = improved();
        const double without_s = run(platform, *undisturbed, platform.load(units)).makespan_s;
        FakeWorker& slower = platform.workers[largest];
        const double most = static_cast<double>(std::min(units, slower.memory_units));
        const double speed = static_cast<double>(units) / platform.lower_bound_s(units);
        const double lost = 2.0 / 3 * most / slower.seconds(most);
        slower.drift_factor = 3;
        for (const double part : {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}) {
            slower.drift_at_s = part * without_s;
            // What is left then at the speeds that are left, and as efficient as the undisturbed run.
            const double best_s = slower.drift_at_s + (1 - part) * without_s * speed / (speed - lost);
            const auto policy = improved();
            CHECK(run(platform, *policy, platform.load(units)).makespan_s <= 1.35 * best_s);
        }
    }
}

TEST_CASE("a single spike costs plb-hec no more than it must") {
    const std::vector<double> speeds = {4000, 1000, 1000, 500};
    const FakePlatform platform = plain_platform(speeds, 1e-3);
    const auto undisturbed = improved();
    const double without_s = run(platform, *undisturbed, platform.load(200'000)).makespan_s;
    for (int number : {0, 1, 2, 3, 4}) {
        INFO("block " << number);
        FakePlatform spiked = platform;
        spiked.workers[0].spikes = {{number, 20}};
        const auto policy = improved();
        const FakeRun result = run(spiked, *policy, spiked.load(200'000));
        // The block itself must end, and the time that its processor loses, the others must make up for.
        double end_s = 0, lost_s = 0;
        int started = 0;
        for (const FakeBlock& block : result.blocks)
            if (block.processor == 0 && started++ == number) {
                end_s = block.end_s;
                lost_s = (block.end_s - block.start_s) * 19 / 20;
            }
        CHECK(result.makespan_s <= 1.02 * std::max(end_s, without_s + lost_s * 4000 / 6500));
    }
}

TEST_CASE("plb-hec stays good where the times of blocks vary, and in every run") {
    const auto [noise, at_most] = GENERATE(std::pair(0.1, 1.04), std::pair(0.4, 1.06));
    double log_sum = 0;
    int runs = 0;
    for (unsigned machine = 0; machine < 20; ++machine) {
        std::mt19937 random(machine);
        std::vector<double> speeds(2 + random() % 7);
        for (double& speed : speeds) speed = 500 * std::exp2(random() % 4);
        FakePlatform platform = plain_platform(speeds, 1e-3);
        for (FakeWorker& worker : platform.workers) worker.noise = noise;
        const Units units = 4000 * static_cast<Units>(speeds.size());
        const auto policy = improved();
        for (int k = 0; k < 6; ++k, ++runs) {
            platform.seed = 100 * machine + static_cast<unsigned>(k);
            const double mean_factor = std::exp(noise * noise / 2);
            log_sum += std::log(run(platform, *policy, platform.load(units)).makespan_s /
                                (mean_factor * ideal_s(speeds, units)));
        }
    }
    CHECK(std::exp(log_sum / runs) <= at_most);
}

TEST_CASE("plb-hec keeps its models when the load runs again") {
    const FakePlatform platform = plb_hec_machines("ABCD", 65536);
    const auto policy = improved();
    const double first_s = run(platform, *policy, platform.load(65536)).makespan_s;
    const double second_s = run(platform, *policy, platform.load(65536)).makespan_s;
    CHECK(second_s < first_s);
    CHECK(policy->report().distributions.at(0).reason == "models of the previous run");
}

TEST_CASE("a core that earlier processes saw to be slow is not thought fast by a block of another size") {
    FakePlatform platform = plain_platform({1000, 1000, 50}, 1e-4);
    for (FakeWorker& worker : platform.workers) worker.kind = 0;
    LoadDescription load = platform.load(20'000);
    load.recorded = {};
    const auto knows_nothing = find_policy("plb-hec")->make(), knows = find_policy("plb-hec")->make();
    const double nothing_s = run(platform, *knows_nothing, load).makespan_s;
    load.learnt.resize(3);
    for (std::size_t p = 0; p < 3; ++p) load.learnt[p].name = load.processors[p].name;
    for (std::size_t p = 0; p < 2; ++p) load.learnt[p].points = {{100, 0.1001}, {5000, 5.0001}};
    load.learnt[2].points = {{100, 2.0001}};
    CHECK(run(platform, *knows, load).makespan_s <= 1.05 * nothing_s);
}

namespace {

/// What earlier processes learnt: of every worker blocks of these sizes.
LoadDescription with_learnt(const FakePlatform& platform, Units units, const std::vector<Units>& sizes) {
    LoadDescription load = platform.load(units);
    load.recorded = {};
    for (const FakeWorker& worker : platform.workers) {
        load.learnt.push_back({worker.name, {}});
        for (const Units size : sizes)
            load.learnt.back().points.push_back({size, worker.seconds(static_cast<double>(size))});
    }
    return load;
}

std::vector<Units> blocks_of(const FakeRun& result, int processor) {
    std::vector<Units> blocks;
    for (const FakeBlock& block : result.blocks)
        if (block.processor == processor) blocks.push_back(block.units);
    return blocks;
}

FakePlatform alike(int count, double fixed_s, double unit_s) {
    FakePlatform platform;
    for (int w = 0; w < count; ++w)
        platform.workers.push_back({"core", 0, [=](double units) { return fixed_s + unit_s * units; }});
    return platform;
}

}  // namespace

TEST_CASE(
    "what earlier processes learnt is not checked by a block of its own where that costs as much on each as a run") {
    const FakePlatform platform = alike(8, 0.009, 2e-5);  // of 50 ms: to check costs 9 ms on each
    const FakeRun result = run(platform, *improved(), with_learnt(platform, 16'384, {128, 1024, 2048}));
    for (int w = 0; w < 8; ++w) CHECK(blocks_of(result, w).size() == 1);
    CHECK(result.makespan_s < 0.053);
}

TEST_CASE("where one size was learnt, another one tells whether it is still right") {
    const FakePlatform platform = alike(4, 0.006, 0.006);
    const FakeRun result = run(platform, *improved(), with_learnt(platform, 8, {1}));
    for (int w = 0; w < 4; ++w) CHECK(blocks_of(result, w) == std::vector<Units>{2});
}

TEST_CASE("plb-hec plans once for all processors that are asked at one moment") {
    struct Asked final : Progress {
        Units remaining() const override { return left; }
        std::span<const BlockInFlight> in_flight(int) const override {
            return ++calls, std::span<const BlockInFlight>{};
        }
        Units room(int) const override { return kNoLimit; }
        Units left = 1000000;
        mutable int calls = 0;
    };
    constexpr int kProcessors = 200;
    LoadDescription load;
    load.units = 1000000;
    for (int p = 0; p < kProcessors; ++p) load.processors.push_back({"node " + std::to_string(p), p, true});
    const auto policy = find_policy("plb-hec")->make();
    policy->begin(load);
    for (const Units units : {100, 200})
        for (int p = 0; p < kProcessors; ++p)
            policy->block_finished(
                {.processor = p, .units = units, .end_s = 1, .busy_s = 1e-3 * static_cast<double>(units)});
    Asked asked;
    int given = 0;
    for (int p = 0; p < kProcessors; ++p) {
        const Units units = policy->next_block(p, 2, asked);
        asked.left -= units;
        given += units > 0;
    }
    CHECK(given > 0);
    CHECK(asked.calls < 20 * kProcessors);
}

TEST_CASE("a card that turns out faster than it was planned to be ends plb-hec's plan, though it always computes") {
    FakePlatform platform;
    platform.workers = {
        {.name = "card", .kind = 1, .seconds = [](double units) { return 1e-4 + (units + 7.7) / 414'000; }, .link = 0},
        {.name = "core", .kind = 0, .seconds = [](double units) { return (units + 0.28) / 758; }}};
    platform.links = {{3.91e9}};
    platform.bytes_in_per_unit = 40;
    platform.bytes_out_per_unit = 8;
    constexpr Units kUnits = 20'000'000;
    const auto policy = improved();
    CHECK(run(platform, *policy, platform.load(kUnits)).makespan_s <= 1.05 * platform.lower_bound_s(kUnits));
}

TEST_CASE("plb-hec hands a node no more ahead than half a block, for it may become slower") {
    struct Handed final : Progress {
        Units remaining() const override { return left; }
        std::span<const BlockInFlight> in_flight(int processor) const override {
            return blocks[static_cast<std::size_t>(processor)];
        }
        Units room(int) const override { return kNoLimit; }
        Units left = 1'000'000;
        std::vector<BlockInFlight> blocks[2];
    };
    LoadDescription load;
    load.units = 1'000'000;
    load.processors = {{"node 0", 0, true}, {"node 1", 1, true}};
    load.links = {{1e-4, 2e-5}, {1e-4, 2e-5}};
    Units ahead[2] = {};
    for (const bool told : {false, true}) {
        const auto policy = improved();
        policy->begin(load);
        for (int p = 0; p < 2; ++p)
            for (const auto& [units, given_s] : {std::pair(2000.0, 0.0), std::pair(20000.0, 0.3)})
                policy->block_finished({.processor = p,
                                        .units = static_cast<Units>(units),
                                        .given_s = given_s,
                                        .previous_end_s = given_s,
                                        .start_s = given_s + 1e-5 * units,
                                        .end_s = given_s + 0.01 + 1.1e-4 * units,
                                        .busy_s = 0.01 + 1e-4 * units,
                                        .half_busy_s = told ? 0.01 + 5e-5 * units : 0});
        Handed handed;
        const Units block = policy->next_block(0, 2, handed);
        handed.blocks[0].push_back({.id = 1, .units = block, .given_s = 2, .begun_s = 2});
        handed.left -= block;
        ahead[told] = policy->next_block(0, 2, handed);
    }
    INFO(ahead[false] << " units, of a node " << ahead[true]);
    CHECK(ahead[true] > 0);
    CHECK(16 * ahead[true] <= 9 * ahead[false]);  // aligned
}
