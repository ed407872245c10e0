// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test/benchmarks/six_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace apportion::test {

FakePlatform machine_by_chance(std::mt19937& random) {
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
    FakePlatform platform = plain_platform(speeds, fixed_s);
    for (std::size_t p = 0; p < speeds.size(); ++p) {
        FakeWorker& worker = platform.workers[p];
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

SomeUnits units_by_chance(const FakePlatform& platform, std::mt19937& random) {
    SomeUnits some;
    double all = 0;
    for (const FakeWorker& worker : platform.workers) {
        some.units_per_s.push_back(1 / (worker.seconds(1e6) / 1e6));
        all += some.units_per_s.back();
    }
    some.units = static_cast<Units>(all * (random() % 2 ? 10 : 1));
    some.least_s = static_cast<double>(some.units) / all;
    return some;
}

Ratios six_runs(const char* policy, FakePlatform& platform, Units units,
                const std::function<double(int run)>& before_run) {
    const auto made = find_policy(policy)->make();
    Ratios ratios{};
    for (int k = 0; k < kRuns; ++k) {
        const double least_s = before_run(k);
        LoadDescription load = platform.load(units);
        load.run = k + 1;
        const FakeRun result = run(platform, *made, load);
        ratios[static_cast<std::size_t>(k)] =
            result.done ? result.makespan_s / least_s : 1000;  // it ended with an error
    }
    return ratios;
}

void print_table(
    const char* title, const std::vector<std::string>& patterns, const std::vector<const char*>& policies,
    unsigned first, unsigned machines,
    const std::function<Ratios(const std::string& pattern, const char* policy, unsigned machine)>& measure) {
    fmt::print("{:<14}{:<10}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}\n", title, "policy", "run 1", "2", "3", "4", "5", "6",
               "worst");
    for (const std::string& pattern : patterns)
        for (const char* policy : policies) {
            Ratios logs{};
            double worst = 0;
            for (unsigned machine = first; machine < first + machines; ++machine) {
                const Ratios ratios = measure(pattern, policy, machine);
                for (std::size_t k = 0; k < kRuns; ++k) logs[k] += std::log(ratios[k]) / machines;
                worst = std::max(worst, *std::ranges::max_element(ratios));
            }
            std::string line = fmt::format("{:<14}{:<10}", pattern, policy);
            for (const double log : logs) line += fmt::format("{:>8.3f}", std::exp(log));
            fmt::print("{}{:>9.2f}\n", line, worst);
        }
}

}  // namespace apportion::test
