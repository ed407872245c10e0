// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "codelets/simulated/machine_files.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "models/io/text.hpp"
#include "policies/starpu/profile_store.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/comparison.hpp"
#include "tools/apportion/program_runner.hpp"

namespace apportion {

namespace fs = std::filesystem;

namespace {

using simulated::Device;
using simulated::DeviceKind;
using simulated::Platform;

/// StarPU calls its workers "CPU 3" and "CUDA 2.0 (Tesla K20c ...)": kind and number of the device.
const Device& device_of(const Platform& platform, const std::string& kind, const std::string& name) {
    int index = -1;
    const std::size_t digits = name.find_first_of("0123456789");
    if (digits != std::string::npos) std::from_chars(name.data() + digits, name.data() + name.size(), index);
    const DeviceKind device_kind = kind == "CPU" ? DeviceKind::cpu : DeviceKind::cuda;
    if (index < 0 || index >= platform.count(device_kind))
        throw UserError("StarPU's worker '{}' is no device of the platform {}", name, platform.name);
    return platform.device(device_kind, index);
}

/// Multiples of a 256th of the load and, below, sizes that grow by a twentieth; multiples of the granularity.
std::vector<Units> dense_sizes(Units units, Units granularity) {
    constexpr Units kLinear = 256, kGrowth = 20;
    const Units granules = std::max<Units>(units / granularity, 1), step = std::max<Units>(granules / kLinear, 1);
    std::set<Units> sizes{granules * granularity};
    for (Units x = 1; x < step * kGrowth && x <= granules; x += std::max<Units>(1, x / kGrowth))
        sizes.insert(x * granularity);
    for (Units x = step; x < granules; x += step) sizes.insert(x * granularity);
    return {sizes.begin(), sizes.end()};
}

ProfilePoint record(simulated::Execution& execution, Units units, double true_s, const SampleOptions& options) {
    constexpr double kBeforeAnything_s = -1e9;  // no drift, no loss
    Samples samples(options);
    while (!samples.enough()) samples.add(execution.next_seconds(true_s, kBeforeAnything_s));
    return {units, samples.mean_s(), samples.interval_s(), samples.repetitions()};
}

/// What the data of a block take, while those of all devices that share the link travel.
void add_transfers(ProfilePoint& point, const Platform& platform, const Device& device, const Kernel& kernel) {
    if (device.link < 0) return;
    const auto& link = platform.links[static_cast<std::size_t>(device.link)];
    int sharers = link.shared ? 0 : 1;
    for (const Device& other : platform.devices)
        if (link.shared && other.link == device.link) sharers += other.count;
    const auto seconds = [&](double unit_bytes) {
        const double unit_s = unit_bytes * sharers / link.bytes_per_s;
        return unit_bytes > 0 ? device.latency_s + static_cast<double>(point.units) * unit_s : 0;
    };
    const auto& needs = needs_of(platform, kernel.app);
    const double in = needs.bytes_in(kernel.measures), out = needs.bytes_out(kernel.measures);
    point.in_s = seconds(in);
    point.out_s = seconds(out);
    point.both_s = seconds(link.full_duplex ? std::max(in, out) : in + out);
}

}  // namespace

PlatformProfile true_times(const Kernel& kernel, const Platform& platform, const Machine& machine,
                           const RunReport& report, const std::vector<Units>& sizes, const SampleOptions& options) {
    const std::vector<Units> wanted = sizes.empty() ? dense_sizes(report.units, report.granularity) : sizes;
    simulated::check_unit_times(platform, kernel.app, kernel.measures);
    PlatformProfile result;
    result.load = report.profile_name;
    result.machine = machine;
    result.profile.notes = {{"kernel", kernel.app},
                            {kLoadNote, result.load},
                            {kMachineNote, machine.description},
                            {"size", kernel.size},
                            {"mode", "true times of the simulated platform"}};
    int stream = 0;
    for (const ReportedProcessor& processor : report.processors) {
        const Device& device = device_of(platform, processor.kind, processor.name);
        simulated::Execution execution(platform, device, stream++);
        ProcessorProfile& profile = result.profile.processors.emplace_back();
        profile.name = processor.name;
        for (const Units units : wanted) {
            if (units > processor.memory_units.value_or(units)) break;
            const double true_s =
                simulated::true_seconds(platform, device, kernel.app, kernel.measures, static_cast<double>(units));
            profile.points.push_back(platform.noise > 0 ? record(execution, units, true_s, options)
                                                        : ProfilePoint{units, true_s, 0, 0});
            add_transfers(profile.points.back(), platform, device, kernel);
        }
        if (profile.points.empty())
            throw UserError("--sizes: the smallest, {}, does not fit the memory of {}", counted(wanted.front(), "unit"),
                            processor.name);
    }
    return result;
}

void require_kernel(const Platform& platform, const std::string& name, const std::string& kernel) {
    if (!platform.kernels.contains(kernel))
        throw UserError("--platform {}: it does not describe kernel \"{}\"; add [kernel.{}] and times of it", name,
                        kernel, kernel);
}

PlatformProfile platform_profile(const std::string& app, const std::string& size, const std::string& platform_name,
                                 const std::vector<Units>& sizes, const SampleOptions& options) {
    Platform platform = simulated::load_machine(platform_name);
    require_kernel(platform, platform_name, app);
    const ProgramRunner runner(bundled_command(app, size, {}), platform, false);
    const RunResult run = runner.run({.policy = "equal"});
    return true_times({app, size, simulated_size(run.size)}, platform, runner.machine(), run.report, sizes, options);
}

std::string save_cluster_profiles(const Kernel& kernel, const Platform& cluster, const RunReport& report,
                                  const fs::path& folder) {
    const auto nodes = static_cast<std::size_t>(cluster.node_count());
    if (report.nodes.size() != nodes)
        return fmt::format("the report of load '{}' tells of the processors of {}, and the platform has {}",
                           report.load, counted(report.nodes.size(), "node"), nodes);
    for (std::size_t rank = 0; rank < nodes; ++rank)
        if (report.nodes[rank].processors.empty())
            return fmt::format("the report of load '{}' does not tell which processors node {} ({}) has", report.load,
                               rank, node_host(cluster, static_cast<int>(rank)));
    for (int rank = 0; rank < cluster.node_count(); ++rank) {
        const PlatformProfile profile = true_times(kernel, machine_of_node(cluster, rank),
                                                   simulated_node(node_host(cluster, rank), cluster.file.string()),
                                                   report.nodes[static_cast<std::size_t>(rank)], {}, {});
        const fs::path file = folder / file_name(profile.machine.name) / (file_name(profile.load) + ".csv");
        fs::create_directories(file.parent_path());
        save_profile(file.string(), profile.profile);
    }
    return {};
}

Profile square_profile(const std::string& app, const std::string& platform_name, const std::vector<Units>& sizes) {
    const Platform platform = simulated::load_machine(platform_name);
    require_kernel(platform, platform_name, app);
    Profile profile;
    profile.notes = {{"kernel", app}, {"mode", fmt::format("true times of x by x problems on {}", platform.name)}};
    // A device without times of the kernel takes no part; where none has them, the first one's error says so.
    const auto has_times = [&](const Device& device) { return device.kernels.contains(app); };
    const bool some_have = std::ranges::any_of(platform.devices, has_times);
    std::map<std::string, int> of_name, numbered;
    for (const Device& device : platform.devices)
        if (has_times(device)) of_name[device.name] += device.count;
    for (const Device& device : platform.devices) {
        if (some_have && !has_times(device)) continue;
        std::vector<ProfilePoint> points;
        for (const Units units : sizes) {
            const auto x = static_cast<double>(units);
            points.push_back(
                {units, simulated::true_seconds(platform, device, app, {.m = x, .n = x, .k = x}, x), 0, 0});
        }
        for (int k = 0; k < device.count; ++k)
            profile.processors.push_back(
                {of_name[device.name] == 1 ? device.name : fmt::format("{} #{}", device.name, ++numbered[device.name]),
                 points});
    }
    return profile;
}

}  // namespace apportion
