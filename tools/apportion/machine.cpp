// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/machine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

namespace apportion {

namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

std::string cpu_model() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown CPU";
}

}  // namespace

std::string host_name() {
    const std::string forced = environment("STARPU_HOSTNAME");
    if (!forced.empty()) return forced;
    char name[256] = "unknown";
    gethostname(name, sizeof name - 1);
    const std::string host = name;
    return host.substr(0, host.find('.'));
}

std::string machine_description() {
    const std::string handicap = environment("APPORTION_HANDICAP"), platform = environment("APPORTION_PLATFORM");
    std::string text = fmt::format("{} ({})", host_name(), cpu_model());
    if (!handicap.empty()) text += ", handicap " + handicap;
    if (!platform.empty()) text += ", simulated " + platform;
    return text;
}

double load_per_cpu() {
    double load = 0;
    const unsigned cpus = std::thread::hardware_concurrency();
    return getloadavg(&load, 1) == 1 && cpus > 0 ? load / cpus : 0;
}

}  // namespace apportion
