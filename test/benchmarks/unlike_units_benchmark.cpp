// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Policies where units are unlike, in virtual time, on machines drawn by chance: loads of which a unit's cost depends
// on its place: falling or rising (triangular matrices), a hump (Mandelbrot's set), a few heavy rows anywhere (sparse
// matrices), a dear last tenth. Prints makespans of six runs of a load over the time in which all processors together
// could end the work, as geometric means, and the worst.
//
// unlike_units_benchmark [MACHINES [POLICY...]]
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "test/benchmarks/six_runs.hpp"

using namespace apportion;

namespace {

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

test::Ratios measure(const std::string& pattern, const char* policy, unsigned machine) {
    std::mt19937 random(machine);
    test::FakePlatform platform = test::machine_by_chance(random);
    const test::SomeUnits load = test::units_by_chance(platform, random);
    std::vector<double> sums(static_cast<std::size_t>(load.units) + 1);
    for (std::size_t u = 0; u + 1 < sums.size(); ++u)
        sums[u + 1] = sums[u] + cost(pattern, static_cast<double>(u) / static_cast<double>(load.units), random);
    const double scale = static_cast<double>(load.units) / sums.back();
    platform.work = [&](Units first, Units count) {
        return scale * (sums[static_cast<std::size_t>(first + count)] - sums[static_cast<std::size_t>(first)]);
    };
    return test::six_runs(policy, platform, load.units, [&](int) { return load.least_s; });
}

}  // namespace

int main(int argc, char** argv) {
    const unsigned machines = argc > 1 ? static_cast<unsigned>(std::max(1, std::atoi(argv[1]))) : 40;
    std::vector<const char*> policies{"plb-hec", "greedy", "gss", "fac2", "awf-c", "af"};
    if (argc > 2) policies.assign(argv + 2, argv + argc);
    test::print_table("units", {"alike", "rising", "falling", "hump", "heavy rows", "dear end"}, policies, 100,
                      machines, measure);
}
