// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Policies where the times of blocks vary by chance, in virtual time: two to eight processors drawn by chance, of
// speeds up to 32 to 1, of which each block takes a random factor of its mean time (log-normal). Prints makespans of
// six runs of a load over the time in which all processors together end the units on average, as geometric means, and
// the worst.
//
// noise_benchmark [MACHINES]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "test/fake_platform.hpp"

using namespace apportion;

namespace {

constexpr int kRuns = 6;
using Ratios = std::array<double, kRuns>;

/// With that noise: the standard deviation of the factor's logarithm.
Ratios measure(const char* policy_name, unsigned machine, double noise) {
    std::mt19937 random(machine);
    std::uniform_real_distribution<> doublings(-1, 4);
    std::vector<double> speeds(2 + random() % 7);
    double all = 0;
    for (double& speed : speeds) all += speed = 1000 * std::exp2(doublings(random));
    test::FakePlatform platform = test::plain_platform(speeds, random() % 2 ? 1e-4 : 1e-3);
    for (std::size_t p = 0; p < speeds.size(); ++p) {
        platform.workers[p].noise = noise;
        platform.workers[p].kind = static_cast<int>(p);
    }
    const auto units = static_cast<Units>(all * (random() % 2 ? 10 : 1));
    const double mean_s = static_cast<double>(units) / all * std::exp(noise * noise / 2);
    const auto policy = find_policy(policy_name)->make();
    Ratios ratios{};
    for (int k = 0; k < kRuns; ++k) {
        platform.seed = kRuns * machine + static_cast<unsigned>(k);
        LoadDescription load = platform.load(units);
        load.run = k + 1;
        ratios[static_cast<std::size_t>(k)] = run(platform, *policy, load).makespan_s / mean_s;
    }
    return ratios;
}

}  // namespace

int main(int argc, char** argv) {
    const unsigned machines = argc > 1 ? static_cast<unsigned>(std::max(1, std::atoi(argv[1]))) : 40;
    fmt::print("{:>6}  {:<12}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}\n", "noise", "policy", "run 1", "2", "3", "4", "5",
               "6", "worst");
    for (const double noise : {0.0, 0.03, 0.1, 0.2, 0.4, 0.8})
        for (const char* policy : {"plb-hec", "greedy", "fac2", "awf-c", "af"}) {
            Ratios logs{};
            double worst = 0;
            for (unsigned machine = 0; machine < machines; ++machine) {
                const Ratios ratios = measure(policy, machine, noise);
                for (std::size_t k = 0; k < kRuns; ++k) logs[k] += std::log(ratios[k]) / machines;
                worst = std::max(worst, *std::ranges::max_element(ratios));
            }
            std::string line = fmt::format("{:>6}  {:<12}", noise, policy);
            for (const double log : logs) line += fmt::format("{:>8.3f}", std::exp(log));
            fmt::print("{}{:>9.2f}\n", line, worst);
        }
}
