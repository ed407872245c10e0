// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/simulated/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "codelets/common/random.hpp"

namespace apportion::simulated {

namespace {

using Units = std::int64_t;

const TrueTime& kernel_of(const Device& device, const std::string& kernel) {
    const auto found = device.kernels.find(kernel);
    if (found == device.kernels.end())
        throw std::invalid_argument("device \"" + device.name + "\" has no time function for kernel \"" + kernel +
                                    "\"");
    return found->second;
}

double usable_bytes(const Device& device) { return kUsableMemory * device.memory_bytes; }

/// Whether the data that all blocks share stay on the device.
bool resident_fits(const Device& device, double resident_bytes) {
    return device.memory_bytes == 0 || resident_bytes < usable_bytes(device);
}

using Points = std::vector<std::pair<double, double>>;

/// The point at or before x, or the one before the last; the next one is on the other side of x. Needs two points.
Points::const_iterator segment(const Points& points, double x) {
    const auto after = std::upper_bound(points.begin() + 1, points.end() - 1, x,
                                        [](double value, const auto& point) { return value < point.first; });
    return after - 1;
}

double between(double x, double x0, double y0, double x1, double y1) { return y0 + (y1 - y0) * (x - x0) / (x1 - x0); }

double interpolated(const Points& table, double units) {
    const auto& [first_units, first_s] = table.front();
    const auto& [last_units, last_s] = table.back();
    if (units <= first_units) return first_s * units / first_units;
    if (units >= last_units) return last_s * units / last_units;
    const auto left = segment(table, units), right = left + 1;
    return between(units, left->first, left->second, right->first, right->second);
}

/// Seconds of `units` for every piece of work in a unit.
double seconds_by_rates(const TrueTime& time, double units) {
    const auto& [first_units, first_rate] = time.rates.front();
    const auto& [last_units, last_rate] = time.rates.back();
    if (units <= first_units) {
        const double h = time.half_saturation;
        return first_units / first_rate * (units + h) / (first_units + h);
    }
    if (units >= last_units) return units / last_rate;
    const auto left = segment(time.rates, units), right = left + 1;
    return between(units, left->first, left->first / left->second, right->first, right->first / right->second);
}

/// Seconds of a unit of a problem of size n.
double unit_seconds(const Points& by_n, double n) {
    if (by_n.size() == 1) return by_n.front().second;
    const auto left = segment(by_n, n), right = left + 1;
    return std::exp(between(std::log(std::max(n, 1.0)), std::log(left->first), std::log(left->second),
                            std::log(right->first), std::log(right->second)));
}

double compute_seconds(const KernelNeeds& needs, const TrueTime& time, const KernelSize& size, double units) {
    if (!time.rates.empty()) return needs.work(size) * seconds_by_rates(time, units);
    if (!time.seconds_by_n.empty()) return unit_seconds(time.seconds_by_n, size.n) * (units + time.half_saturation);
    return needs.work(size) * (units + time.half_saturation) / time.rate;
}

double ripple(const TrueTime& time, double units) {
    if (time.ripple_height == 0 || units < time.ripple_from || units > time.ripple_to) return 1;
    const double height = time.ripple_height / (time.ripple_fade > 0 ? 1 + units / time.ripple_fade : 1);
    const double phase = units / static_cast<double>(time.ripple_period);
    return 1 + height * 2 * std::abs(phase - std::floor(phase + 0.5));
}

std::uint64_t next_random(std::uint64_t& state) { return splitmix_output(state += kSplitMixStep); }

/// In (0, 1].
double uniform(std::uint64_t& state) { return (static_cast<double>(next_random(state) >> 11) + 1) * 0x1p-53; }

double normal(std::uint64_t& state) {
    const double radius = std::sqrt(-2 * std::log(uniform(state)));
    return radius * std::cos(2 * std::numbers::pi * uniform(state));
}

}  // namespace

double Monomial::operator()(const KernelSize& size) const {
    return factor * std::pow(size.m, m) * std::pow(size.n, n) * std::pow(size.k, k);
}

int Platform::count(DeviceKind kind) const {
    int sum = 0;
    for (const Device& device : devices)
        if (device.kind == kind) sum += device.count;
    return sum;
}

int Platform::node_count() const {
    int sum = 0;
    for (const Node& node : nodes) sum += node.count;
    return sum;
}

const Node& Platform::node(int rank) const {
    for (const Node& node : nodes) {
        if (rank < node.count) return node;
        rank -= node.count;
    }
    throw std::out_of_range("platform " + name + " has fewer nodes");
}

const Device& Platform::device(DeviceKind kind, int index) const {
    for (const Device& device : devices) {
        if (device.kind != kind) continue;
        if (index < device.count) return device;
        index -= device.count;
    }
    throw std::out_of_range("platform " + name + " has fewer devices of that kind");
}

Platform machine_of_node(const Platform& cluster, int rank) {
    const Node& node = cluster.node(rank);
    Platform machine = cluster;
    machine.nodes.clear();
    machine.devices.clear();
    machine.description = fmt::format("node {} of {}", rank, cluster.name);
    if (node.bus) machine.links = {*node.bus};
    for (Device device : cluster.devices) {
        const auto found = node.devices.find(device.name);
        if (found == node.devices.end()) continue;
        device.count = found->second;
        if (node.bus && device.link >= 0) {
            device.link = 0;
            device.latency_s = node.bus->latency_s;
        }
        if (node.drift_factor != 1) {
            device.drift_factor = node.drift_factor;
            device.drift_from_s = node.drift_from_s;
        }
        machine.devices.push_back(std::move(device));
    }
    return machine;
}

std::string node_host(const Platform& cluster, int rank) {
    constexpr std::size_t kLongest = 24;
    const Node& node = cluster.node(rank);
    std::string host = node.name.substr(0, kLongest);
    for (char& c : host)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '-';
    int before = 0;
    for (const Node* other = cluster.nodes.data(); other != &node; ++other) before += other->count;
    return node.count == 1 ? host : fmt::format("{}-{}", host, rank - before + 1);
}

const KernelNeeds& needs_of(const Platform& platform, const std::string& kernel) {
    const auto found = platform.kernels.find(kernel);
    if (found == platform.kernels.end())
        throw std::invalid_argument("platform " + platform.name + " does not describe kernel \"" + kernel + "\"");
    return found->second;
}

double true_seconds(const Platform& platform, const Device& device, const std::string& kernel, const KernelSize& size,
                    double units) {
    const KernelNeeds& needs = needs_of(platform, kernel);
    const TrueTime& time = kernel_of(device, kernel);
    if (!time.table.empty()) return interpolated(time.table, units) * ripple(time, units);
    const double resident = needs.resident_bytes(size);
    const double stream_s =
        time.stream_bytes_per_s > 0 && !resident_fits(device, resident) ? resident / time.stream_bytes_per_s : 0;
    return (time.base_s + stream_s + compute_seconds(needs, time, size, units)) * ripple(time, units);
}

void check_unit_times(const Platform& platform, const std::string& kernel, const KernelSize& size) {
    constexpr double kShortest_s = 1e-15;
    for (const Device& device : platform.devices) {
        if (!device.kernels.contains(kernel)) continue;
        const double seconds = true_seconds(platform, device, kernel, size, 1);
        if (seconds >= kShortest_s && seconds < kNever_s) continue;
        throw std::range_error(
            fmt::format("{}: a unit of kernel {} takes {:g} s on {} at this size, and less than {:g} or more than {:g} "
                        "cannot be simulated; correct the platform's numbers, or choose another size",
                        platform.file.string(), kernel, seconds, device.name, kShortest_s, kNever_s));
    }
}

std::optional<Units> memory_units(const Platform& platform, const Device& device, const std::string& kernel,
                                  const KernelSize& size) {
    const KernelNeeds& needs = needs_of(platform, kernel);
    const double unit_bytes = needs.bytes_in(size) + needs.bytes_out(size);
    if (device.memory_bytes == 0 || unit_bytes <= 0) return std::nullopt;
    double room = usable_bytes(device);
    const double resident = needs.resident_bytes(size);
    if (resident_fits(device, resident)) room -= resident;
    constexpr double kMost = 1e18;  // that surely is a number of units
    return static_cast<Units>(std::min(room / unit_bytes, kMost));
}

std::string describe_behaviour(const Device& device) {
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    if (device.drift_factor != 1)
        add(fmt::format("{:g} x as slow from {:g} s on", device.drift_factor, device.drift_from_s));
    if (device.spike_factor != 1)
        add(fmt::format("one block {:g} x as slow at {:g} s", device.spike_factor, device.spike_at_s));
    if (device.stall_s > 0) add(fmt::format("stalls for {:g} s at {:g} s", device.stall_s, device.stall_from_s));
    if (device.lost_at_s) add(fmt::format("lost at {:g} s", *device.lost_at_s));
    return text;
}

Execution::Execution(const Platform& platform, const Device& device, int stream)
    : state_(platform.seed), noise_(platform.noise), device_(device) {
    // Distant states for neighbouring seeds and streams.
    state_ = next_random(state_) + static_cast<std::uint64_t>(stream);
    state_ = next_random(state_);
}

double Execution::next_seconds(double true_s, double start_s) {
    if (noise_ > 0) true_s *= std::exp(noise_ * normal(state_));
    const double before_s = std::clamp(device_.drift_from_s - start_s, 0.0, true_s);
    double seconds = before_s + (true_s - before_s) * device_.drift_factor;
    if (!spiked_ && device_.spike_factor != 1 && start_s + seconds > device_.spike_at_s) {
        spiked_ = true;
        seconds *= device_.spike_factor;
    }
    const double stall_end_s = device_.stall_from_s + device_.stall_s;
    if (start_s < stall_end_s && start_s + seconds > device_.stall_from_s)
        seconds += stall_end_s - std::max(start_s, device_.stall_from_s);
    return device_.lost_at_s && start_s + seconds > *device_.lost_at_s ? kNever_s : seconds;
}

}  // namespace apportion::simulated
