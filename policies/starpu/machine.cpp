// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/machine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "models/io/handicaps.hpp"
#include "models/io/text.hpp"
#include "policies/config.hpp"

namespace apportion {

namespace {

std::string& host_of_node = *new std::string;  // threads may outlive static objects

std::string read_cpu_model() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown CPU";
}

/// The system makes that file anew for each reader, a paragraph for each core.
const std::string& cpu_model() {
    static const std::string& model = *new std::string(read_cpu_model());
    return model;
}

Machine handicapped(Machine machine) {
    const std::string handicap = environment("APPORTION_HANDICAP");
    if (!parse_handicaps(handicap)) return machine;  // none, or nobody obeys it
    for (std::string* text : {&machine.name, &machine.description, &machine.content})
        *text += (text == &machine.name ? " handicap " : ", handicap ") + handicap;
    return machine;
}

}  // namespace

void set_host_name(const std::string& name) { host_of_node = name; }

std::string host_name() {
    if (!host_of_node.empty()) return host_of_node;
    const std::string forced = environment("STARPU_HOSTNAME");
    if (!forced.empty()) return forced;
    char name[256] = "unknown";
    gethostname(name, sizeof name - 1);
    const std::string host = name;
    return host.substr(0, host.find('.'));
}

Machine this_machine() {
    if (const std::string platform = platform_file_option(); !platform.empty())
        return host_of_node.empty() ? simulated_machine(host_name(), platform) : simulated_node(host_of_node, platform);
    const std::string description = fmt::format("{} ({})", host_name(), cpu_model());
    return handicapped({host_name(), description, description});
}

Machine simulated_machine(const std::string& host, const std::string& platform_file) {
    std::ifstream in(platform_file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string content = fmt::format("{:016x}", checksum(text));
    return {host, fmt::format("simulated {} ({})", std::filesystem::path(platform_file).filename().string(), content),
            "simulated " + content};
}

Machine simulated_node(const std::string& node, const std::string& platform_file) {
    Machine machine = simulated_machine(node, platform_file);
    machine.description = node + ", " + machine.description;
    return machine;
}

}  // namespace apportion
