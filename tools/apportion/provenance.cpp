// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/machine_load.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <starpu.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "policies/starpu/machine.hpp"

namespace apportion {

namespace {

/// StarPU's, Apportion's, and those of libraries that have threads of their own.
constexpr const char* kPrefixes[] = {"STARPU_", "APPORTION_", "OMP_", "OPENBLAS_", "MKL_", "CUDA_", "GOMP_", "OMPI_"};

std::map<std::string, std::string> environment_of_runs() {
    std::map<std::string, std::string> variables;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string text = *entry;
        for (const char* prefix : kPrefixes)
            if (text.starts_with(prefix)) variables[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    }
    return variables;
}

}  // namespace

nlohmann::ordered_json provenance_json() {
    int major = 0, minor = 0, release = 0;
    starpu_get_version(&major, &minor, &release);
    utsname system = {};
    uname(&system);
    const std::time_t now = std::time(nullptr);
    return {
        {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))},
        {"host", this_machine().description},
        {"cpus", sysconf(_SC_NPROCESSORS_ONLN)},
        {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
        {"versions", {{"apportion", APPORTION_VERSION}, {"starpu", fmt::format("{}.{}.{}", major, minor, release)}}},
        {"environment", environment_of_runs()}};
}

}  // namespace apportion
