// SPDX-License-Identifier: LGPL-2.1-or-later
//
// plb-hec where speeds vary while a load runs, and where one kind of StarPU's has unlike cores.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "policies/shared/nothing_in_flight.hpp"
#include "test/catch.hpp"
#include "test/fake_platform.hpp"
#include "test/policies/one_computes.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

/// From `from_s` to `until_s` it has half its speed.
struct Visit {
    double from_s = 0, until_s = 0;

    double takes(double start_s, double seconds) const {
        const double before_s = std::clamp(from_s - start_s, 0.0, seconds);
        const double within_s = std::max(0.0, until_s - std::max(start_s, from_s));
        return seconds + std::min(seconds - before_s, within_s / 2);
    }
    double lost_s(double by_s) const { return std::max(0.0, std::min(by_s, until_s) - from_s) / 2; }
};

}  // namespace

TEST_CASE("cores that work at half speed for a while delay no run by much, and those after it neither") {
    constexpr std::size_t kCores = 40;
    constexpr double kSpeed = 1000, kRun_s = 12;
    std::mt19937 random(7);
    const auto draw = [&](double to) { return to * (random() % 1000) / 1000; };
    FakePlatform platform = plain_platform(std::vector<double>(kCores, kSpeed), 1e-4);
    const LoadDescription load = platform.load(static_cast<Units>(kCores * kSpeed * kRun_s));
    const auto policy = find_policy("plb-hec")->make();
    double logarithms = 0;
    constexpr int kRuns = 12;
    for (int k = 0; k < kRuns; ++k) {
        std::vector<Visit> visits;
        for (FakeWorker& worker : platform.workers) {
            const double from_s = draw(kRun_s);
            visits.push_back({from_s, from_s + draw(8)});
            worker.takes = [visit = visits.back()](double start_s, double s) { return visit.takes(start_s, s); };
        }
        double least_s = kRun_s;
        for (int step = 0; step < 50; ++step) {
            double lost_s = 0;
            for (const Visit& visit : visits) lost_s += visit.lost_s(least_s) / kCores;
            least_s = kRun_s + lost_s;
        }
        const double ratio = run(platform, *policy, load).makespan_s / least_s;
        INFO("run " << k + 1 << ": " << ratio);
        CHECK(ratio < 1.1);
        logarithms += std::log(ratio) / kRuns;
    }
    CHECK(std::exp(logarithms) < 1.03);
}

TEST_CASE("a processor that computes alone gets its share in one block") {
    const FakePlatform platform = plain_platform({1000}, 1e-3);
    const LoadDescription load = platform.load(10'000);
    const auto policy = find_policy("plb-hec")->make();
    run(platform, *policy, load);
    CHECK(run(platform, *policy, load).blocks.size() == 1);
}

TEST_CASE("fast and slow cores of one kind are told apart although they are alike at small blocks") {
    FakePlatform platform;
    const auto add = [&](int cores, double units_per_s, double lost_units) {
        for (int c = 0; c < cores; ++c)
            platform.workers.push_back({.name = "CPU " + std::to_string(platform.workers.size()),
                                        .seconds = [=](double units) { return (units + lost_units) / units_per_s; }});
    };
    add(32, 437, 55);
    add(16, 290, 52);
    add(4, 90, 8);
    platform.stall_factor = 50;
    const LoadDescription load = platform.load(20'000);
    const auto policy = find_policy("plb-hec")->make();
    const double least_s = (20'000 + 32 * 55 + 16 * 52 + 4 * 8) / (32 * 437 + 16 * 290 + 4 * 90.0);
    for (int k = 0; k < 6; ++k) {
        const double ratio = run(platform, *policy, load).makespan_s / least_s;
        INFO("run " << k + 1 << ": " << ratio);
        CHECK(ratio < (k == 0 ? 2.2 : k < 3 ? 1.5 : 1.2));
    }
}

TEST_CASE("who is thought to compute all alone is helped when that takes much longer") {
    const OneComputes computes(0, 50, 550);
    LoadDescription load;
    load.units = 600;
    load.processors = {{"fast", 1}, {"slow 0", 0}, {"slow 1", 0}};
    const auto policy = find_policy("plb-hec")->make();
    policy->begin(load);
    for (const int slow : {1, 2})
        for (const Units units : {1, 2}) policy->block_finished({0, slow, 0, units, 0, 0, 0, 1.0 * units, 1.0 * units});
    for (const Units units : {1, 10, 100})
        policy->block_finished({0, 0, 0, units, 0, 0, 0, 1e-3 * units, 1e-3 * units});
    load.run = 2;
    policy->begin(load);
    CHECK(policy->next_block(0, 0, NothingInFlight(600)) > 0);
    CHECK(policy->next_block(1, 0, computes) == 0);
    CHECK(policy->next_block(1, 0.1, computes) == 0);
    CHECK(policy->next_block(1, 100, computes) > 0);
}
