// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Policies where units are unlike, in virtual time: machines drawn by chance (two to eight unlike processors, or up to
// 64 alike cores, or cores and devices behind links), loads of which a unit's cost depends on its place: falling or
// rising (triangular matrices), a hump (Mandelbrot's set), a few heavy rows anywhere (sparse matrices), a dear last
// tenth. Devices have thirty times the fixed costs of cores. Prints makespans of six runs of a load over the time in
// which all processors together could end the work, as geometric means, and the worst.
//
// unlike_units_benchmark [MACHINES [POLICY...]]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "test/fake_platform.hpp"

using namespace apportion;

namespace {

constexpr int kRuns = 6;
using Ratios = std::array<double, kRuns>;

/// Of a unit at that place of the load, in [0, 1).
double cost(const std::string& units, double place, std::mt19937& random) {
    if (units == "rising") return 2 * place;
    if (units == "falling") return 2 * (1 - place);
    if (units == "hump") return 0.1 + 4 * std::exp(-std::pow((place - 0.45) / 0.12, 2));
    if (units == "heavy rows")
        return std::min(1000.0, std::pow(std::uniform_real_distribution<>(1e-9, 1)(random), -1 / 1.3));
    if (units == "dear end") return place < 0.9 ? 1 : 10;
    return 1;  // alike
}

test::FakePlatform machine(std::mt19937& random) {
    std::uniform_real_distribution<> doublings(-1, 4);
    const unsigned kind = random() % 3;
    std::vector<double> speeds;
    if (kind == 0) {
        speeds.resize(2 + random() % 7);
        for (double& speed : speeds) speed = 1000 * std::exp2(doublings(random));
    } else {
        speeds.assign(2 + random() % (kind == 1 ? 63 : 15), 1000);
    }
    const std::size_t cores = speeds.size();
    const double fixed_s = random() % 2 ? 1e-5 : 1e-4;
    if (kind == 2)
        for (std::size_t d = 1 + random() % 4; d > 0; --d) speeds.push_back(10000 * std::exp2(doublings(random)));
    test::FakePlatform platform = test::plain_platform(speeds, fixed_s);
    for (std::size_t p = 0; p < speeds.size(); ++p) {
        test::FakeWorker& worker = platform.workers[p];
        worker.kind = kind == 0 || p >= cores ? static_cast<int>(p) : 0;
        if (p < cores) continue;
        worker.seconds = [fixed_s, speed = speeds[p]](double units) { return 30 * fixed_s + units / speed; };
        worker.link = 0;
        worker.latency_s = 1e-5;
    }
    platform.links = {{1e10}};
    platform.bytes_in_per_unit = platform.bytes_out_per_unit = 1000;
    platform.stall_factor = 50;
    return platform;
}

Ratios measure(const char* policy_name, unsigned seed, const std::string& pattern) {
    std::mt19937 random(seed);
    test::FakePlatform platform = machine(random);
    double all = 0;
    for (const test::FakeWorker& worker : platform.workers) all += 1 / (worker.seconds(1e6) / 1e6);
    const auto units = static_cast<Units>(all * (random() % 2 ? 10 : 1));
    std::vector<double> sums(static_cast<std::size_t>(units) + 1);
    for (std::size_t u = 0; u + 1 < sums.size(); ++u)
        sums[u + 1] = sums[u] + cost(pattern, static_cast<double>(u) / static_cast<double>(units), random);
    const double scale = static_cast<double>(units) / sums.back();
    platform.work = [&](Units first, Units count) {
        return scale * (sums[static_cast<std::size_t>(first + count)] - sums[static_cast<std::size_t>(first)]);
    };
    const double least_s = static_cast<double>(units) / all;
    const auto policy = find_policy(policy_name)->make();
    Ratios ratios{};
    for (int k = 0; k < kRuns; ++k) {
        LoadDescription load = platform.load(units);
        load.run = k + 1;
        const test::FakeRun result = run(platform, *policy, load);
        ratios[static_cast<std::size_t>(k)] =
            result.done ? result.makespan_s / least_s : 1000;  // it ended with an error
    }
    return ratios;
}

}  // namespace

int main(int argc, char** argv) {
    const unsigned machines = argc > 1 ? static_cast<unsigned>(std::max(1, std::atoi(argv[1]))) : 40;
    std::vector<const char*> policies{"plb-hec", "greedy", "gss", "fac2", "awf-c", "af"};
    if (argc > 2) policies.assign(argv + 2, argv + argc);
    fmt::print("{:<12}{:<12}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}\n", "units", "policy", "run 1", "2", "3", "4", "5", "6",
               "worst");
    for (const char* pattern : {"alike", "rising", "falling", "hump", "heavy rows", "dear end"})
        for (const char* policy : policies) {
            Ratios logs{};
            double worst = 0;
            for (unsigned seed = 100; seed < 100 + machines; ++seed) {
                const Ratios ratios = measure(policy, seed, pattern);
                for (std::size_t k = 0; k < kRuns; ++k) logs[k] += std::log(ratios[k]) / machines;
                worst = std::max(worst, *std::ranges::max_element(ratios));
            }
            std::string line = fmt::format("{:<12}{:<10}", pattern, policy);
            for (const double log : logs) line += fmt::format("{:>8.3f}", std::exp(log));
            fmt::print("{}{:>9.2f}\n", line, worst);
        }
}
