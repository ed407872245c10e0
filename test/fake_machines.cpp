// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a fake platform is like: the load as policies see it, its bound, and the machines that several tests use. How it
// runs is in fake_platform.cpp.
#include <algorithm>

#include "policies/engine/block_flow.hpp"
#include "test/fake_platform.hpp"

namespace apportion::test {

namespace {

/// All sizes of a small load; of a large one, sizes that grow by a twentieth.
std::vector<Units> sampled_sizes(Units units) {
    constexpr Units kAll = 256;
    std::vector<Units> sizes;
    for (Units x = 1; x < units; x += units <= kAll ? 1 : std::max<Units>(1, x / 20)) sizes.push_back(x);
    sizes.push_back(std::max<Units>(units, 1));
    return sizes;
}

}  // namespace

void FakePlatform::record(LoadDescription& load, const std::vector<Units>& sizes) const {
    load.recorded = {};
    load.recorded.source = "the fake platform's times";
    std::vector<ProcessorProfile> profiles;
    for (const FakeWorker& worker : workers) {
        ProcessorProfile& profile = profiles.emplace_back();
        profile.name = worker.name;
        for (const Units x : sizes)
            if (x <= worker.memory_units) profile.points.push_back({x, worker.seconds(static_cast<double>(x)), 0, 0});
    }
    load.recorded.processors = std::move(profiles);
}

LoadDescription FakePlatform::load(Units units, Units granularity, Units initial_block) const {
    LoadDescription load;
    load.units = units;
    load.granularity = granularity;
    load.initial_block =
        initial_block > 0 ? initial_block : default_initial_block(units, granularity, static_cast<int>(workers.size()));
    for (const FakeWorker& worker : workers)
        load.processors.push_back({worker.name, worker.kind, worker.link >= 0, worker.memory_units});
    if (links_known)
        for (const FakeWorker& worker : workers) {
            const double bytes = bytes_in_per_unit + bytes_out_per_unit;
            load.links.push_back(
                worker.link < 0
                    ? LoadDescription::Link{}
                    : LoadDescription::Link{2 * worker.latency_s,
                                            bytes / links[static_cast<std::size_t>(worker.link)].bytes_per_s});
        }
    record(load, sampled_sizes(units));
    return load;
}

double FakePlatform::lower_bound_s(Units units) const {
    double sum = 0;
    for (const FakeWorker& worker : workers) {
        const double most = static_cast<double>(std::min(units, worker.memory_units));
        double best = 0;
        for (double x = most; x >= 1; x /= 1.01) best = std::max(best, x / worker.seconds(x));
        sum += best;
    }
    return static_cast<double>(units) / sum;
}

FakePlatform plain_platform(const std::vector<double>& speeds, double fixed_s) {
    FakePlatform platform;
    for (std::size_t g = 0; g < speeds.size(); ++g) {
        FakeWorker worker;
        worker.name = "worker " + std::to_string(g);
        worker.kind = static_cast<int>(g);
        worker.seconds = [speed = speeds[g], fixed_s](double units) { return fixed_s + units / speed; };
        platform.workers.push_back(worker);
    }
    return platform;
}

// Rates are vendor peaks times what libraries reached (sgemm); the machines are those of PLB-HeC's Table I. A block of
// x columns of B and C takes 30 us + stream + 2 n^2 x / rate (1 + half / x); a GPU whose usable memory (75 %) cannot
// hold A streams it once per block at 5 GB/s. Four bytes per element travel in (B) and out (C).
FakePlatform plb_hec_machines(const std::string& machines, Units order) {
    struct Device {
        char machine;
        const char* name;
        int count;
        bool gpu;
        double gflops, half_units, latency_us, memory_gb;
    };
    static const Device kDevices[] = {
        {'A', "E5-2690 v2 core", 9, false, 40, 8, 0, 0}, {'A', "Tesla K20c", 1, true, 2600, 512, 10, 5.0},
        {'B', "i7-920", 1, false, 54, 32, 60, 6.0},      {'B', "GTX 295", 2, true, 350, 256, 70, 0.896},
        {'C', "i7-4930K", 1, false, 184, 32, 60, 24.0},  {'C', "GTX 680", 2, true, 1300, 512, 70, 2.0},
        {'D', "i7-3930K", 1, false, 215, 32, 60, 24.0},  {'D', "GTX Titan", 1, true, 3300, 512, 70, 6.0},
    };
    constexpr double kMainMemory = 6.0e9, kNetwork = 1.17e9, kStream = 5e9, kUsable = 0.75;
    FakePlatform platform;
    const auto n = static_cast<double>(order);
    platform.bytes_in_per_unit = platform.bytes_out_per_unit = 4 * n;
    int kind = 0;
    for (const Device& device : kDevices) {
        if (machines.find(device.machine) == std::string::npos) continue;
        const int link = device.machine - 'A';
        while (static_cast<int>(platform.links.size()) <= link)
            platform.links.push_back({platform.links.empty() ? kMainMemory : kNetwork});
        const double a_bytes = 4 * n * n, memory = device.memory_gb * 1e9;
        const bool holds_a = memory * kUsable >= a_bytes;
        const double stream_s = device.gpu && !holds_a ? a_bytes / kStream : 0;
        for (int i = 0; i < device.count; ++i) {
            FakeWorker worker;
            worker.name = std::string(1, device.machine) + ": " + device.name + " " + std::to_string(i);
            worker.kind = kind;
            worker.seconds = [=](double x) {
                return 30e-6 + stream_s + 2 * n * n * x / (device.gflops * 1e9) * (1 + device.half_units / x);
            };
            if (device.memory_gb > 0) {
                worker.link = link;
                worker.latency_s = device.latency_us * 1e-6;
                worker.memory_units = static_cast<Units>((memory * kUsable - (holds_a ? a_bytes : 0)) / (8 * n));
                worker.physical_units = static_cast<Units>((memory - (holds_a ? a_bytes : 0)) / (8 * n));
            }
            platform.workers.push_back(worker);
        }
        ++kind;
    }
    return platform;
}

}  // namespace apportion::test
