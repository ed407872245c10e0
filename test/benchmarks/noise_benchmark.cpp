// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Policies where the times of blocks vary by chance, in virtual time: two to eight processors drawn by chance, of
// speeds up to 32 to 1, of which each block takes a random factor of its mean time (log-normal). Prints makespans of
// six runs of a load over the time in which all processors together end the units on average, as geometric means, and
// the worst.
//
// noise_benchmark [MACHINES]
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "test/benchmarks/six_runs.hpp"

using namespace apportion;

namespace {

/// With that noise: the standard deviation of the factor's logarithm.
test::Ratios measure(const std::string& pattern, const char* policy, unsigned machine) {
    const double noise = std::stod(pattern);
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
    return test::six_runs(policy, platform, units, [&](int run) {
        platform.seed = test::kRuns * machine + static_cast<unsigned>(run);
        return static_cast<double>(units) / all * std::exp(noise * noise / 2);
    });
}

}  // namespace

int main(int argc, char** argv) {
    const unsigned machines = argc > 1 ? static_cast<unsigned>(std::max(1, std::atoi(argv[1]))) : 40;
    test::print_table("noise", {"0", "0.03", "0.1", "0.2", "0.4", "0.8"}, {"plb-hec", "greedy", "fac2", "awf-c", "af"},
                      0, machines, measure);
}
