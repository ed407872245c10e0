// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/machine_load.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "policies/config.hpp"

namespace apportion {

namespace {

/// The first line of /proc/stat: cpu user nice system idle iowait irq softirq ..., in ticks.
double busy_seconds() {
    std::ifstream stat("/proc/stat");
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0;
    if (!(stat >> cpu >> user >> nice >> system >> idle >> waiting >> irq >> softirq)) return 0;
    return (user + nice + system + irq + softirq) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double seconds_of(int who) {
    rusage usage = {};
    getrusage(who, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double own_seconds() { return seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN); }

}  // namespace

MachineLoad::MachineLoad() : busy_s_(busy_seconds()), own_s_(own_seconds()) {}

double MachineLoad::cpus_of_others() const {
    const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    if (busy_s_ <= 0 || wall_s <= 0 || !platform_file_option().empty()) return 0;
    return std::max(0.0, (busy_seconds() - busy_s_ - (own_seconds() - own_s_)) / wall_s);
}

std::string disturbance(double cpus_of_others) {
    constexpr double kBusy = 0.1;  // of all CPUs
    const double cpus = std::thread::hardware_concurrency();
    if (cpus_of_others <= kBusy * cpus) return "";
    return fmt::format(
        "Other programs kept {:.1f} of {:g} CPUs busy meanwhile, and what they take is in the times; measure on a "
        "quiet machine",
        cpus_of_others, cpus);
}

}  // namespace apportion
