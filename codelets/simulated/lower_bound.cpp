// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/simulated/lower_bound.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace apportion::simulated {

namespace {

using Units = std::int64_t;
using Seconds = std::function<double(Units)>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Sizes of 1 ... most between which the time without ripple is linear, so that the speed is monotone.
std::vector<Units> turning_points(const TrueTime& time, Units most) {
    std::vector<Units> points{1, most};
    for (const auto& point : time.table.empty() ? time.rates : time.table) {
        const auto units = static_cast<Units>(point.first);
        for (Units x : {units, units + 1})
            if (x >= 1 && x <= most) points.push_back(x);
    }
    std::ranges::sort(points);
    points.erase(std::unique(points.begin(), points.end()), points.end());
    return points;
}

/// No larger block ends within `limit_s`: of those points and between them, where the seconds are linear; 0: none does.
Units largest_within(const std::vector<Units>& points, const Seconds& seconds, double limit_s) {
    for (auto right = points.rbegin(); right != points.rend(); ++right) {
        if (seconds(*right) <= limit_s) return *right;
        const auto left = right + 1;
        if (left == points.rend() || seconds(*left) > limit_s) continue;
        Units within = *left, beyond = *right;
        while (beyond - within > 1) {
            const Units middle = within + (beyond - within) / 2;
            (seconds(middle) <= limit_s ? within : beyond) = middle;
        }
        return within;
    }
    return 0;
}

/// max x / t(x) over x = 1 ... most. With a ripple, multiples of the period have the factor 1 and no size has less, so
/// in a monotone piece the best one is less than a period away from one of the ends.
double best_speed(const TrueTime& time, Units most, const Seconds& seconds) {
    const Units window = time.ripple_height > 0 ? time.ripple_period : 1;
    double best = 0;
    for (const Units point : turning_points(time, most))
        for (Units x = std::max<Units>(point - window + 1, 1); x <= std::min(point + window - 1, most); ++x)
            best = std::max(best, static_cast<double>(x) / seconds(x));
    return best;
}

/// The smallest time for which `speed`, of what ends within that time, gives the units.
double smallest_seconds(double units, const std::function<double(double limit_s)>& speed) {
    constexpr int kHalvings = 30;              // to nine digits
    double within = units / speed(kInfinity);  // too short, or just right
    double enough = within;
    for (; std::isfinite(enough) && enough * speed(enough) < units; enough *= 2) within = enough;
    if (!std::isfinite(enough)) return kInfinity;
    for (int i = 0; i < kHalvings && within < enough; ++i) {
        const double middle = within + (enough - within) / 2;
        (middle * speed(middle) < units ? within : enough) = middle;
    }
    return within;
}

/// Of one machine.
class MachineSpeed {
  public:
    MachineSpeed(const Platform& platform, const std::string& kernel, const KernelSize& size, Units units)
        : platform_(platform),
          kernel_(kernel),
          size_(size),
          units_(units),
          in_(needs_of(platform, kernel).kept ? 0 : needs_of(platform, kernel).bytes_in(size)),
          out_(needs_of(platform, kernel).kept ? 0 : needs_of(platform, kernel).bytes_out(size)) {}

    /// Units per second of all devices, with blocks that end within `limit_s`.
    double speed(double limit_s) const {
        double sum = 0;
        std::vector<double> of_link(platform_.links.size());
        for (const Device& device : platform_.devices) {
            const double one = device_speed(device, limit_s);
            if (device.link < 0)
                sum += device.count * one;
            else if (const Link& link = platform_.links[device.link]; link.shared)
                of_link[device.link] += device.count * one;
            else
                sum += device.count * std::min(one, link_speed(link));
        }
        for (std::size_t l = 0; l < of_link.size(); ++l) sum += std::min(of_link[l], link_speed(platform_.links[l]));
        return sum;
    }

  private:
    double link_speed(const Link& link) const {
        const double unit_bytes = link.full_duplex ? std::max(in_, out_) : in_ + out_;
        return unit_bytes > 0 ? link.bytes_per_s / unit_bytes : kInfinity;
    }

    double device_speed(const Device& device, double limit_s) const {
        const auto found = device.kernels.find(kernel_);
        if (found == device.kernels.end()) return 0;
        const TrueTime& time = found->second;
        Units most = std::min(units_, memory_units(platform_, device, kernel_, size_).value_or(units_));
        if (most < 1) return 0;
        if (std::isfinite(limit_s)) {
            Device smooth = device;
            smooth.kernels.at(kernel_).ripple_height = 0;
            most = largest_within(
                turning_points(time, most),
                [&](Units x) { return block_seconds(smooth, x) + transfer_seconds(device, x); }, limit_s);
        }
        return most < 1 ? 0 : best_speed(time, most, [&](Units x) { return block_seconds(device, x); });
    }

    double block_seconds(const Device& device, Units x) const {
        return std::min(1.0, device.drift_factor) *
               true_seconds(platform_, device, kernel_, size_, static_cast<double>(x));
    }

    /// To the device and back.
    double transfer_seconds(const Device& device, Units x) const {
        if (device.link < 0) return 0;
        const double latencies_s = ((in_ > 0 ? 1 : 0) + (out_ > 0 ? 1 : 0)) * device.latency_s;
        return latencies_s + static_cast<double>(x) * (in_ + out_) / platform_.links[device.link].bytes_per_s;
    }

    const Platform platform_;
    const std::string& kernel_;
    const KernelSize& size_;
    Units units_;
    double in_, out_;  ///< bytes of a unit over a link
};

/// Nodes that are alike, the first one of all left out.
struct Others {
    MachineSpeed machine;
    int count;
    double link_speed;
};

/// Of all nodes; what others than the first compute passes their links and the first one's.
double cluster_seconds(const Platform& cluster, const std::string& kernel, const KernelSize& size, Units units) {
    const KernelNeeds needs = needs_of(cluster, kernel);
    // Of a unit, in the busier direction; what devices keep, the nodes do.
    const double unit_bytes = needs.kept ? 0 : std::max(needs.bytes_in(size), needs.bytes_out(size));
    std::vector<Others> all;
    int rank = 0;
    for (const Node& node : cluster.nodes) {
        all.push_back({MachineSpeed(machine_of_node(cluster, rank), kernel, size, units), node.count - (rank == 0),
                       unit_bytes > 0 ? node.network_bytes_per_s / unit_bytes : kInfinity});
        rank += node.count;
    }
    return smallest_seconds(static_cast<double>(units), [&](double limit_s) {
        double sum = 0;
        for (const Others& others : all)
            if (others.count > 0) sum += others.count * std::min(others.machine.speed(limit_s), others.link_speed);
        return all.front().machine.speed(limit_s) + std::min(sum, all.front().link_speed);
    });
}

}  // namespace

double lower_bound_seconds(const Platform& platform, const std::string& kernel, const KernelSize& size, Units units) {
    if (!platform.nodes.empty()) return cluster_seconds(platform, kernel, size, units);
    const MachineSpeed machine(platform, kernel, size, units);
    return smallest_seconds(static_cast<double>(units), [&](double limit_s) { return machine.speed(limit_s); });
}

}  // namespace apportion::simulated
