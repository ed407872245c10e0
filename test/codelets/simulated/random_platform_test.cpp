// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Machines drawn by chance: the same everywhere, within what is promised of them, and of every kind.
#include "codelets/simulated/random_platform.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codelets/simulated/lower_bound.hpp"
#include "codelets/simulated/machine_files.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "test/catch.hpp"

using namespace apportion::simulated;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kSeeds = 200;
const std::set<std::string> kKernels{"matmul", "blackscholes", "fft2d", "grn", "jacobi", "jacobi_batch", "mpdata"};

std::string class_of(const std::string& text) {
    const std::string mark = "\n# Class ";
    const std::size_t begin = text.find(mark) + mark.size();
    return text.substr(begin, text.find(':', begin) - begin);
}

struct Drawn {
    std::uint64_t seed;
    std::string machine_class;
    Platform platform;

    std::vector<const Device*> kinds(DeviceKind kind) const {
        std::vector<const Device*> result;
        for (const Device& device : platform.devices)
            if (device.kind == kind) result.push_back(&device);
        return result;
    }
    double fastest_core() const {
        double rate = 0;
        for (const Device* core : kinds(DeviceKind::cpu)) rate = std::max(rate, core->kernels.at("matmul").rate);
        return rate;
    }
};

/// Through a file, as people use them.
const std::vector<Drawn>& drawn() {
    static const std::vector<Drawn> machines = [] {
        std::vector<Drawn> result;
        const std::string file = "random_platform_test.toml";
        for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
            const std::string text = random_platform(seed);
            std::ofstream(file, std::ios::binary) << text;
            result.push_back({seed, class_of(text), load_platform(file)});
        }
        fs::remove(file);
        return result;
    }();
    return machines;
}

/// FNV-1a.
std::uint64_t hash_of(const std::string& text, std::uint64_t hash) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

void check_in(double value, double from, double to) {
    CHECK(value >= from * (1 - 1e-12));
    CHECK(value <= to * (1 + 1e-12));
}

}  // namespace

TEST_CASE("a seed has one text, which no compiler and no machine changes") {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) hash = hash_of(random_platform(seed), hash);
    CHECK(hash == 0xe2aaff4572b4df19);
    CHECK(random_platform(7) == random_platform(7));
    CHECK(random_platform(7) != random_platform(8));
    CHECK(random_platform(INT64_MAX) != random_platform(INT64_MAX - 1));
}

TEST_CASE("a drawn machine tells how it was drawn") {
    const std::string text = random_platform(12);
    CHECK(text.starts_with("# Drawn by: apportion platform --random 12\n# Class "));
    CHECK(drawn()[12].platform.name == "random-12");
    CHECK(drawn()[12].platform.description.starts_with("random " + drawn()[12].machine_class + ": "));
    CHECK(text.find("include") == std::string::npos);
}

TEST_CASE("every device of a drawn machine has every kernel, and kernels ask what they ask elsewhere") {
    const Platform bundled = load_platform("plbhec-a");
    const KernelSize size{300, 500, 700};
    for (const Drawn& d : drawn()) {
        CAPTURE(d.seed);
        for (const Device& device : d.platform.devices) {
            std::set<std::string> names;
            for (const auto& [name, time] : device.kernels) names.insert(name);
            CHECK(names == kKernels);
        }
        for (const std::string& kernel : kKernels) {
            const KernelNeeds &needs = needs_of(d.platform, kernel), &wanted = needs_of(bundled, kernel);
            CHECK(needs.work(size) == wanted.work(size));
            CHECK(needs.bytes_in(size) == wanted.bytes_in(size));
            CHECK(needs.bytes_out(size) == wanted.bytes_out(size));
            CHECK(needs.resident_bytes(size) == wanted.resident_bytes(size));
            CHECK(lower_bound_seconds(d.platform, kernel, size, 1000) > 0);
        }
    }
}

TEST_CASE("drawn machines are within what is promised, and fit the simulated StarPU") {
    for (const Drawn& d : drawn()) {
        CAPTURE(d.seed, d.machine_class);
        const int cores = d.platform.count(DeviceKind::cpu), cards = d.platform.count(DeviceKind::cuda);
        CHECK(cores >= 1);
        CHECK(cards >= 1);
        CHECK(cards <= 16);
        CHECK(cores + cards <= 64);
        CHECK(d.kinds(DeviceKind::cpu).size() <= 2);
        CHECK(d.kinds(DeviceKind::cuda).size() <= 4);
        CHECK((d.platform.noise == 0 || d.platform.noise == 0.03 || d.platform.noise == 0.1));
        for (const Link& link : d.platform.links) check_in(link.bytes_per_s, 1.5e9, 51e9);
        for (const Device* core : d.kinds(DeviceKind::cpu)) check_in(core->kernels.at("matmul").rate, 15e9, 91e9);
        for (const Device* card : d.kinds(DeviceKind::cuda)) {
            check_in(card->memory_bytes, 2e9, 82e9);
            check_in(card->kernels.at("matmul").half_saturation, 47, 3000);
            check_in(card->kernels.at("matmul").rate, 0.2e12, 91e12);
            CHECK(card->kernels.at("matmul").stream_bytes_per_s == d.platform.links[card->link].bytes_per_s);
        }
        for (const Device& device : d.platform.devices)
            for (const auto& [name, time] : device.kernels) {
                if (time.ripple_height == 0) continue;
                CHECK((name == "matmul" || name == "fft2d"));
                check_in(time.ripple_height, 0.1, 1.2);
                CHECK(std::set<std::int64_t>{32, 64, 128, 256}.contains(time.ripple_period));
            }
    }
}

TEST_CASE("classes of drawn machines are what they are called") {
    for (const Drawn& d : drawn()) {
        CAPTURE(d.seed, d.machine_class);
        const int cores = d.platform.count(DeviceKind::cpu), cards = d.platform.count(DeviceKind::cuda);
        if (d.machine_class == "laptop") CHECK((cores <= 8 && cards == 1));
        if (d.machine_class == "workstation") CHECK((cores >= 4 && cores <= 24 && cards <= 2));
        if (d.machine_class == "many-core") CHECK((cores >= 24 && cards == 1));
        if (d.machine_class != "server") continue;
        CHECK((cards >= 4 && cards <= 8));
        constexpr double kPlaces = 0.07;  // neighbours in E24 are not quite 10^(1/24) apart
        for (const Device* card : d.kinds(DeviceKind::cuda))
            check_in(card->kernels.at("matmul").rate / d.fastest_core(), 300 * (1 - kPlaces), 1000 * (1 + kPlaces));
    }
}

TEST_CASE("all kinds of machines are drawn") {
    std::map<std::string, int> classes, features;
    int kinds = 0, rippled = 0;
    for (const Drawn& d : drawn()) {
        ++classes[d.machine_class];
        ++features["noise " + std::to_string(d.platform.noise)];
        ++features[std::to_string(d.kinds(DeviceKind::cuda).size()) + " kinds of cards"];
        ++features[std::to_string(d.kinds(DeviceKind::cpu).size()) + " kinds of cores"];
        for (const Link& link : d.platform.links) {
            ++features[link.shared ? "shared" : "own"];
            ++features[link.full_duplex ? "full duplex" : "half duplex"];
        }
        for (const Device& device : d.platform.devices) {
            ++kinds;
            rippled += device.kernels.at("matmul").ripple_height > 0;
        }
    }
    CHECK(classes.size() == 5);
    for (const auto& [name, count] : classes) {
        CAPTURE(name);
        CHECK(count >= 20);
    }
    CHECK(features.size() == 3 + 4 + 2 + 2 + 2);
    for (const auto& [name, count] : features) {
        CAPTURE(name);
        CHECK(count >= 5);
    }
    CHECK(rippled > 0.15 * kinds);
    CHECK(rippled < 0.35 * kinds);
}
