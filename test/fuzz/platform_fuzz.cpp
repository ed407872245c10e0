// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Any text as a platform: it is refused with a UserError that begins with FILE:LINE, or what was read is in order
// and all its time functions can be used. A text is several files: a line "%% NAME" begins another one, which those
// before may include or use as a table.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "codelets/simulated/lower_bound.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "test/folder.hpp"

using namespace apportion::simulated;
namespace fs = std::filesystem;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

/// Only names of plain files in the folder.
bool is_plain(const std::string& name) {
    return !name.empty() && name.size() < 100 && name.find_first_of(std::string("/\0", 2)) == std::string::npos &&
           name != "." && name != "..";
}

void write_files(const fs::path& folder, std::string text) {
    std::string name = "main.toml";
    const std::string mark = "\n%% ";
    for (;;) {
        const std::size_t end = text.find(mark);
        if (is_plain(name)) std::ofstream(folder / name, std::ios::binary) << text.substr(0, end);
        if (end == std::string::npos) return;
        text.erase(0, end + mark.size());
        const std::size_t line_end = std::min(text.find('\n'), text.size());
        name = text.substr(0, line_end);
        text.erase(0, line_end + 1);
    }
}

void check_device(const Platform& platform, const Device& device) {
    require(!device.name.empty() && device.count >= 1);
    require(device.link < static_cast<int>(platform.links.size()));
    require((device.kind == DeviceKind::cuda) == (device.link >= 0 && device.memory_bytes > 0));
    for (const auto& [kernel, time] : device.kernels) {
        for (std::size_t k = 1; k < time.table.size(); ++k) require(time.table[k - 1].first < time.table[k].first);
        const KernelSize size{64, 64, 64};
        const auto most = memory_units(platform, device, kernel, size);
        require(!most || *most >= 0);
        for (const double units : {1.0, 63.0, 1e6}) {
            const double seconds = true_seconds(platform, device, kernel, size, units);
            require(seconds >= 0 || std::isnan(seconds));  // not a number: infinite work at an infinite rate
        }
    }
}

void check_platform(const Platform& platform) {
    require(platform.count(DeviceKind::cpu) + platform.count(DeviceKind::cuda) >= 1);
    require(platform.noise >= 0 && platform.seed >= 1);
    std::set<std::string> links;
    for (const Link& link : platform.links)
        require(links.insert(link.name).second && link.bytes_per_s > 0 && link.latency_s >= 0);
    for (const Device& device : platform.devices) check_device(platform, device);
    for (const auto& [kernel, needs] : platform.kernels) {
        const double bound_s = lower_bound_seconds(platform, kernel, {64, 64, 64}, 100);
        require(bound_s >= 0 || std::isnan(bound_s));
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const apportion::Folder folder;
    write_files(folder.path(), std::string(reinterpret_cast<const char*>(data), size));
    try {
        check_platform(load_platform(folder.file("main.toml")));
    } catch (const apportion::UserError& error) {
        const std::string message = error.what(), start = folder.path().string() + "/";
        require(message.starts_with(start));
        const std::size_t line = message.find(':', start.size());
        require(line + 1 < message.size() && std::isdigit(static_cast<unsigned char>(message[line + 1])));
    }
    return 0;
}
