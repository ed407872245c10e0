// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What benchmarks in virtual time share: machines drawn by chance, and a table of how long six runs of a load take
// there under each policy.
#pragma once

#include <array>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "test/fake_platform.hpp"

namespace apportion::test {

inline constexpr int kRuns = 6;
/// Of six runs, makespan over the least that is possible.
using Ratios = std::array<double, kRuns>;

/// Two to eight unlike processors, or up to 64 alike cores, or cores and one to four devices behind a link. Devices
/// have thirty times the fixed costs of cores.
FakePlatform machine_by_chance(std::mt19937& random);

/// A unit of 1000 bytes each way; as many as all processors together end in 1 s or 10 s, by chance.
struct SomeUnits {
    Units units = 0;
    double least_s = 0;  ///< in which all processors together would end them
    std::vector<double> units_per_s;
};
SomeUnits units_by_chance(const FakePlatform& platform, std::mt19937& random);

/// Six runs of the load. `before_run` may change the platform for the run, and answers the least that it can take.
Ratios six_runs(const char* policy, FakePlatform& platform, Units units,
                const std::function<double(int run)>& before_run);

/// A line for each pattern and policy: the geometric means of the runs over `machines` machines, which are numbered
/// from `first` on, and the worst of all.
void print_table(
    const char* title, const std::vector<std::string>& patterns, const std::vector<const char*>& policies,
    unsigned first, unsigned machines,
    const std::function<Ratios(const std::string& pattern, const char* policy, unsigned machine)>& measure);

}  // namespace apportion::test
