// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/simulated/platform.hpp"

#include <cmath>
#include <string_view>

#include "codelets/simulated/platform_file.hpp"
#include "test/catch.hpp"
#include "test/codelets/simulated/alike_devices.hpp"

using namespace apportion::simulated;

namespace {

const Device& device_named(const Platform& platform, std::string_view name) {
    for (const Device& device : platform.devices)
        if (device.name == name) return device;
    FAIL("no device " << name);
    return platform.devices.front();
}

double seconds(const Platform& platform, double units) {
    return true_seconds(platform, platform.devices[0], "k", {.m = 0, .n = 1, .k = 0}, units);
}

}  // namespace

TEST_CASE("the bundled machines have the rates, memories and links that were agreed on") {
    const Platform p = load_platform("plbhec-abcd");
    CHECK(p.count(DeviceKind::cpu) == 9);
    CHECK(p.count(DeviceKind::cuda) == 9);
    CHECK(p.noise == 0);
    REQUIRE(p.links.size() == 4);
    CHECK(p.links[0].bytes_per_s == 6.0e9);
    CHECK(p.links[3].bytes_per_s == 1.17e9);

    const double n = 65536;
    const KernelSize size{.m = n, .n = n, .k = n};
    const double x = 1000;
    const auto plain = [&](double gflops, double h) { return 30e-6 + 2 * n * n * x / (gflops * 1e9) * (1 + h / x); };
    const double stream_s = 4 * n * n / 5e9;
    const auto t = [&](const char* name) { return true_seconds(p, device_named(p, name), "matmul", size, x); };
    CHECK(t("E5-2690 v2 core") == Approx(plain(40, 8)));
    CHECK(t("Tesla K20c") == Approx(stream_s + plain(2600, 512)));  // 17 GB of A do not fit 3.75 GB
    CHECK(t("i7-920, 3 cores") == Approx(plain(54, 32)));
    CHECK(t("GTX 295") == Approx(stream_s + plain(350, 256)));
    CHECK(t("i7-4930K, 4 cores") == Approx(plain(184, 32)));
    CHECK(t("GTX 680") == Approx(stream_s + plain(1300, 512)));
    CHECK(t("i7-3930K, 5 cores") == Approx(plain(215, 32)));
    CHECK(t("GTX Titan") == Approx(stream_s + plain(3300, 512)));
}

TEST_CASE("PLB-HeC's machines with one GPU each are the same ones without the others") {
    const Platform all = load_platform("plbhec-abcd"), one = load_platform("plbhec-abcd-one-gpu");
    CHECK(one.count(DeviceKind::cpu) == 9);
    CHECK(one.count(DeviceKind::cuda) == 7);
    REQUIRE(one.devices.size() == all.devices.size());
    for (std::size_t d = 0; d < one.devices.size(); ++d) {
        CHECK(one.devices[d].name == all.devices[d].name);
        CHECK(one.devices[d].count == (all.devices[d].count == 2 ? 1 : all.devices[d].count));
    }
}

TEST_CASE("the other kernels of the bundled machines follow their formulas") {
    const Platform p = load_platform("plbhec-ab");
    const Device& gpu = device_named(p, "GTX 295");
    const Device& core = device_named(p, "E5-2690 v2 core");
    const KernelSize options{.m = 0, .n = 1e6, .k = 0};
    CHECK(true_seconds(p, gpu, "blackscholes", options, 5000) == Approx(30e-6 + 5000 / 90e3 * (1 + 2048 / 5000.0)));
    CHECK(true_seconds(p, core, "blackscholes", options, 50) == Approx(30e-6 + 50 / 4e3 * (1 + 16 / 50.0)));
    CHECK(memory_units(p, gpu, "blackscholes", options) == static_cast<std::int64_t>(0.75 * 0.896e9 / 48));
    const KernelSize genes{.m = 0, .n = 20'000, .k = 0};
    CHECK(true_seconds(p, gpu, "grn", genes, 10) == Approx(30e-6 + 10 * 0.030 * 0.04 * (1 + 64 / 10.0)));
    CHECK(true_seconds(p, core, "grn", genes, 10) == Approx(30e-6 + 10 * 0.50 * 0.04 * (1 + 1 / 10.0)));
}

TEST_CASE("resident data that fit leave less room for blocks, and those that do not cost time") {
    const Platform p = load_platform("plbhec-a");
    const Device& gpu = device_named(p, "Tesla K20c");
    const auto room = [&](double n) { return memory_units(p, gpu, "matmul", {.m = n, .n = n, .k = n}); };
    CHECK(room(16384) == static_cast<std::int64_t>((0.75 * 5e9 - 4 * 16384.0 * 16384.0) / (8 * 16384.0)));
    CHECK(room(65536) == static_cast<std::int64_t>(0.75 * 5e9 / (8 * 65536.0)));
    CHECK_FALSE(memory_units(p, device_named(p, "E5-2690 v2 core"), "matmul", {.m = 9, .n = 9, .k = 9}).has_value());
}

TEST_CASE("a table is interpolated, and its ends have constant speed") {
    const Platform p = alike_devices({.table = {{10, 1}, {20, 3}}});
    CHECK(seconds(p, 5) == Approx(0.5));
    CHECK(seconds(p, 10) == Approx(1));
    CHECK(seconds(p, 15) == Approx(2));
    CHECK(seconds(p, 40) == Approx(6));
}

TEST_CASE("a ripple slows sizes between the multiples of its period") {
    const Platform p = alike_devices({.rate = 1, .ripple_height = 0.5, .ripple_period = 8});
    CHECK(seconds(p, 16) == Approx(16));
    CHECK(seconds(p, 20) == Approx(20 * 1.5));
    CHECK(seconds(p, 18) == Approx(18 * 1.25));
}

TEST_CASE("a ripple may fade with the size and end at sizes") {
    const Platform p = alike_devices(
        {.rate = 1, .ripple_height = 0.5, .ripple_period = 8, .ripple_fade = 20, .ripple_from = 10, .ripple_to = 40});
    CHECK(seconds(p, 4) == Approx(4));
    CHECK(seconds(p, 20) == Approx(20 * 1.25));
    CHECK(seconds(p, 36) == Approx(36 * (1 + 0.5 / 2.8)));
    CHECK(seconds(p, 44) == Approx(44));
}

TEST_CASE("measured rates are met, with linear times between, constant speed beyond, half saturation below") {
    TrueTime time;
    time.base_s = 0.1;
    time.rates = {{10, 2}, {20, 5}, {40, 4}};
    time.half_saturation = 5;
    const Platform p = alike_devices(time);
    CHECK(seconds(p, 10) == Approx(0.1 + 10 / 2.0));
    CHECK(seconds(p, 20) == Approx(0.1 + 20 / 5.0));
    CHECK(seconds(p, 30) == Approx(0.1 + (20 / 5.0 + 40 / 4.0) / 2));
    CHECK(seconds(p, 100) == Approx(0.1 + 100 / 4.0));
    CHECK(seconds(p, 5) == Approx(0.1 + 5.0 * 10 / 15));
    time.rates = {{10, 2}};
    CHECK(seconds(alike_devices(time), 30) == Approx(0.1 + 30 / 2.0));
}

TEST_CASE("unit times measured at several problem sizes follow powers of the size") {
    Platform p = alike_devices({.base_s = 0.1, .seconds_by_n = {{100, 1}, {200, 8}, {400, 16}}});
    const auto at = [&](double n) { return true_seconds(p, p.devices[0], "k", {.m = 0, .n = n, .k = 0}, 3); };
    CHECK(at(100) == Approx(0.1 + 3));
    CHECK(at(150) == Approx(0.1 + 3 * std::pow(1.5, 3)));
    CHECK(at(400) == Approx(0.1 + 3 * 16));
    CHECK(at(50) == Approx(0.1 + 3 / 8.0));
    CHECK(at(800) == Approx(0.1 + 3 * 32));
    p.devices[0].kernels["k"].seconds_by_n = {{100, 2}};
    CHECK(at(777) == Approx(0.1 + 3 * 2));
}

TEST_CASE("noise is log-normal with the given deviation and depends on seed and device") {
    Platform p = alike_devices({.rate = 1});
    p.noise = 0.03;
    const auto draw = [&](std::uint64_t seed, int stream) {
        p.seed = seed;
        Execution execution(p, p.devices[0], stream);
        std::vector<double> logs;
        for (int i = 0; i < 20'000; ++i) logs.push_back(std::log(execution.next_seconds(2, 0) / 2));
        return logs;
    };
    const auto logs = draw(1, 0);
    double sum = 0, squares = 0;
    for (double x : logs) sum += x, squares += x * x;
    const double mean = sum / 20'000;
    CHECK(std::abs(mean) < 0.001);
    CHECK(std::sqrt(squares / 20'000 - mean * mean) == Approx(0.03).epsilon(0.03));
    CHECK(draw(1, 0) == logs);
    CHECK(draw(2, 0) != logs);
    CHECK(draw(1, 1) != logs);
}

TEST_CASE("drift slows what is left of a block from its moment on") {
    const Platform p = alike_devices({.rate = 1});
    Device device = p.devices[0];
    device.drift_factor = 3;
    device.drift_from_s = 10;
    Execution execution(p, device, 0);
    CHECK(execution.next_seconds(4, 2) == Approx(4));
    CHECK(execution.next_seconds(4, 8) == Approx(2 + 2 * 3));
    CHECK(execution.next_seconds(4, 11) == Approx(12));
}

TEST_CASE("a spike slows one block, the first that ends after its moment") {
    const Platform p = alike_devices({.rate = 1});
    Device device = p.devices[0];
    device.spike_factor = 20;
    device.spike_at_s = 10;
    Execution execution(p, device, 0);
    CHECK(execution.next_seconds(4, 2) == Approx(4));
    CHECK(execution.next_seconds(4, 8) == Approx(80));
    CHECK(execution.next_seconds(4, 88) == Approx(4));
}

TEST_CASE("a stalled device goes on where it was") {
    const Platform p = alike_devices({.rate = 1});
    Device device = p.devices[0];
    device.stall_s = 5;
    device.stall_from_s = 10;
    Execution execution(p, device, 0);
    CHECK(execution.next_seconds(4, 6) == Approx(4));
    CHECK(execution.next_seconds(4, 8) == Approx(4 + 5));
    CHECK(execution.next_seconds(4, 12) == Approx(4 + 3));  // it was to begin in the pause
    CHECK(execution.next_seconds(4, 15) == Approx(4));
}

TEST_CASE("a lost device finishes no block any more") {
    const Platform p = alike_devices({.rate = 1});
    Device device = p.devices[0];
    device.lost_at_s = 10;
    Execution execution(p, device, 0);
    CHECK(execution.next_seconds(4, 6) == Approx(4));
    CHECK(execution.next_seconds(4, 7) == kNever_s);
    CHECK(execution.next_seconds(4, 70) == kNever_s);
}
