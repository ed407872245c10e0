// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/simulated/lower_bound.hpp"

#include <algorithm>
#include <limits>

#include "codelets/simulated/platform_file.hpp"
#include "test/catch.hpp"
#include "test/codelets/simulated/alike_devices.hpp"

using namespace apportion::simulated;

namespace {

constexpr KernelSize kSize{.m = 0, .n = 1, .k = 0};

TrueTime proportional(double rate) {
    TrueTime time;
    time.rate = rate;
    return time;
}

/// `count` devices of 100 units a second, and a link of 200 bytes a second.
Platform devices_on_link(int count, bool shared, bool full_duplex, double bytes_in, double bytes_out) {
    Platform platform = alike_devices(proportional(100), count);
    platform.kernels["k"].bytes_in = {bytes_in, 0, 0, 0};
    platform.kernels["k"].bytes_out = {bytes_out, 0, 0, 0};
    platform.links.push_back({.name = "link", .bytes_per_s = 200, .shared = shared, .full_duplex = full_duplex});
    platform.devices[0].kind = DeviceKind::cuda;
    platform.devices[0].link = 0;
    return platform;
}

double bound(const Platform& platform, std::int64_t units) { return lower_bound_seconds(platform, "k", kSize, units); }

/// Devices like that with room for so many units.
Platform small_device(const TrueTime& time, double most) {
    Platform platform = alike_devices(time);
    platform.kernels["k"].bytes_in = {1, 0, 0, 0};
    platform.devices[0].memory_bytes = (most + 0.5) / kUsableMemory;
    return platform;
}

/// The first of many moments, each a thousandth later, until which one device without a link can have computed them
/// all: in blocks that fit and end by then, at the speed of the best.
double bound_by_search(const Platform& platform, std::int64_t units) {
    const std::int64_t most = memory_units(platform, platform.devices[0], "k", kSize).value_or(units);
    for (double limit_s = 1e-3;; limit_s *= 1.001) {
        double speed = 0;
        for (std::int64_t x = 1; x <= std::min(units, most); ++x) {
            const auto size = static_cast<double>(x);
            const double seconds = true_seconds(platform, platform.devices[0], "k", kSize, size);
            if (seconds <= limit_s) speed = std::max(speed, size / seconds);
        }
        if (limit_s * speed >= static_cast<double>(units)) return limit_s;
    }
}

}  // namespace

TEST_CASE("on a cluster, what other nodes compute passes their links and the first node's") {
    Platform cluster = devices_on_link(1, false, true, 0, 0);  // 100 units a second
    cluster.devices[0].name = "card";
    cluster.kernels["k"].bytes_in = {10, 0, 0, 0};
    cluster.links[0].bytes_per_s = 1e9;
    const auto node = [](const char* name, int count, double bytes_per_s) {
        Node alike;
        alike.name = name;
        alike.count = count;
        alike.devices = {{"card", 1}};
        alike.network_bytes_per_s = bytes_per_s;
        return alike;
    };
    const auto seconds = [&] { return lower_bound_seconds(cluster, "k", kSize, 100000); };
    cluster.nodes = {node("first", 1, 1e9), node("others", 3, 1e9)};
    CHECK(seconds() == Approx(250).epsilon(1e-3));
    cluster.nodes[1].network_bytes_per_s = 500;  // 50 units a second to each
    CHECK(seconds() == Approx(400).epsilon(1e-3));
    cluster.nodes[0].network_bytes_per_s = 1200;  // 120 to all
    CHECK(seconds() == Approx(100000. / 220).epsilon(1e-3));
    cluster.kernels["k"].kept = true;  // by each node, from one run to the next
    CHECK(seconds() == Approx(250).epsilon(1e-3));
    cluster.kernels["k"].kept = false;
    cluster.nodes = {node("alike", 4, 1e9)};
    CHECK(seconds() == Approx(250).epsilon(1e-3));
}

TEST_CASE("the lower bound adds the devices' speeds with blocks that end in time") {
    TrueTime time;
    time.base_s = 1;
    time.rate = 10;
    CHECK(bound(alike_devices(time), 90) == Approx(10));      // in one block: 1 + 9 s
    CHECK(bound(alike_devices(time, 4), 88) == Approx(3.2));  // each one block: 1 + 22 / 10 s
    Platform nothing = alike_devices(time);
    nothing.devices[0].kernels.clear();
    CHECK(bound(nothing, 90) == std::numeric_limits<double>::infinity());
}

TEST_CASE("the lower bound regards only blocks that fit the device") {
    Platform p = alike_devices({.base_s = 1, .rate = 10});
    p.kernels["k"].bytes_in = {30, 0, 0, 0};
    p.devices[0].memory_bytes = 400;  // 300 usable: 10 units
    CHECK(bound(p, 100) == Approx(100 / (10 / 2.0)));
}

TEST_CASE("the lower bound finds the best size in tables and rates") {
    TrueTime time;
    time.table = {{5, 1}, {20, 2}, {40, 5}, {90, 4}, {150, 9}};
    for (std::int64_t units : {1, 6, 25, 60, 89, 200, 1000}) {
        const Platform p = alike_devices(time);
        CHECK(bound(p, units) == Approx(bound_by_search(p, units)).epsilon(0.002));
    }
    time.table.clear();
    time.base_s = 0.1;
    time.rates = {{10, 2}, {20, 5}, {40, 4}};
    time.half_saturation = 5;
    for (std::int64_t units : {1, 9, 15, 25, 200}) {
        const Platform p = alike_devices(time);
        CHECK(bound(p, units) == Approx(bound_by_search(p, units)).epsilon(0.002));
    }
}

TEST_CASE("a device that becomes faster may be so from the beginning, one that becomes slower late") {
    Platform p = alike_devices({.base_s = 1, .rate = 10});
    const double steady_s = bound(p, 100);
    p.devices[0].drift_from_s = 5;
    p.devices[0].drift_factor = 4;
    CHECK(bound(p, 100) == Approx(steady_s));
    p.devices[0].drift_factor = 0.25;
    CHECK(bound(p, 100) == Approx(steady_s / 4));
}

TEST_CASE("the lower bound finds the best size under a ripple") {
    TrueTime time;
    time.base_s = 0.5;
    time.rate = 7;
    time.half_saturation = 3;
    time.ripple_height = 0.4;
    time.ripple_period = 16;
    const auto check = [&](std::int64_t most) {
        const Platform p = small_device(time, static_cast<double>(most));
        CHECK(bound(p, 5000) == Approx(bound_by_search(p, 5000)).epsilon(0.002));
    };
    for (const std::int64_t most : {1, 15, 16, 17, 100, 250}) check(most);
    time.ripple_fade = 20;
    time.ripple_from = 10;
    time.ripple_to = 40;
    for (const std::int64_t most : {9, 17, 39, 60}) check(most);
}

TEST_CASE("what a link carries bounds its devices together, or each of them where each has its own") {
    // Two units a second and byte: 40 units a second over the link.
    CHECK(bound(devices_on_link(3, true, true, 5, 0), 4000) == Approx(100));
    CHECK(bound(devices_on_link(3, false, true, 5, 0), 4000) == Approx(4000 / 120.0));
    CHECK(bound(devices_on_link(3, true, true, 0, 5), 4000) == Approx(100));
    CHECK(bound(devices_on_link(3, true, true, 0, 0), 3000) == Approx(10));
}

TEST_CASE("a link that is not full-duplex carries data and results one after the other") {
    CHECK(bound(devices_on_link(3, true, true, 4, 1), 5000) == Approx(100));
    CHECK(bound(devices_on_link(3, true, false, 4, 1), 4000) == Approx(100));
    CHECK(bound(devices_on_link(1, false, false, 4, 1), 4000) == Approx(100));
}

TEST_CASE("devices in main memory compute what a link does not carry") {
    Platform p = devices_on_link(3, true, true, 5, 0);
    Device core;
    core.kernels["k"] = proportional(10);
    p.devices.insert(p.devices.begin(), core);
    CHECK(bound(p, 5000) == Approx(100));
}

TEST_CASE("a block needs its data before and has to send its results afterwards") {
    Platform p = alike_devices({.base_s = 1, .rate = 1e6});
    p.kernels["k"].bytes_in = {1, 0, 0, 0};
    p.links.push_back({.name = "link", .bytes_per_s = 1000});
    p.devices[0].kind = DeviceKind::cuda;
    p.devices[0].link = 0;
    p.devices[0].latency_s = 0.25;
    // No block at all ends before 1.25 s; of 100 units, 0.1 s on the link, none needs more than 1.35 s.
    CHECK(bound(p, 1) >= 1.25);
    CHECK(bound(p, 100) >= 1.25);
    CHECK(bound(p, 100) <= 1.36);
}
