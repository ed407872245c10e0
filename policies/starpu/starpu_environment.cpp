// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/starpu_environment.hpp"

#include <fmt/format.h>
#include <starpu.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "models/io/files.hpp"
#include "models/io/text.hpp"
#include "policies/starpu/error.hpp"

namespace apportion {

namespace {

namespace fs = std::filesystem;

/// Those that starpu_init() reads as whole numbers, without STARPU_ in front.
constexpr std::string_view kNumbers =
    "BACKOFF_MAX BACKOFF_MIN BUS_CALIBRATE BUS_STATS CALIBRATE CALIBRATE_MINIMUM CATCH_SIGNALS CODELET_PROFILING "
    "CUDA_ONLY_FAST_ALLOC_OTHER_MEMNODES CUDA_PIPELINE CUDA_THREAD_PER_DEV CUDA_THREAD_PER_WORKER "
    "DATA_LOCALITY_ENFORCE DISABLE_ASYNCHRONOUS_COPY DISABLE_ASYNCHRONOUS_CUDA_COPY DISABLE_ASYNCHRONOUS_HIP_COPY "
    "DISABLE_ASYNCHRONOUS_MAX_FPGA_COPY DISABLE_ASYNCHRONOUS_MPI_MS_COPY DISABLE_ASYNCHRONOUS_OPENCL_COPY "
    "DISABLE_ASYNCHRONOUS_TCPIP_MS_COPY DISABLE_KERNELS DISABLE_PINNING DISPLAY_BINDINGS ENABLE_MAP ENERGY_PROFILING "
    "EXPECTED_TRANSFER_TIME_WRITEBACK FXT_TRACE GLOBAL_ARBITER HISTORY_MAX_ERROR LIMIT_BANDWIDTH LIMIT_CPU_MEM "
    "LIMIT_CPU_NUMA_MEM LIMIT_CUDA_MEM LIMIT_MAX_SUBMITTED_TASKS LIMIT_MIN_SUBMITTED_TASKS LIMIT_OPENCL_MEM "
    "MAIN_THREAD_BIND MAIN_THREAD_COREID MAIN_THREAD_CPUID MAX_MEMORY_USE MAX_PRIO MEMORY_STATS MINIMUM_AVAILABLE_MEM "
    "MINIMUM_CLEAN_BUFFERS MIN_PRIO MPI_THREAD_COREID MPI_THREAD_CPUID NCPU NCPUS NCUDA NHIP NMAX_FPGA NMPI_MS NOPENCL "
    "NTCPIP_MS NTHREADS_PER_CORE NWORKER_PER_CUDA OPENCL_ONLY_ON_CPUS OPENCL_ON_CPUS OPENCL_PIPELINE "
    "PERF_MODEL_HOMOGENEOUS_CPU PREFETCH RAND_SEED RESERVE_NCPU SILENT SINGLE_COMBINED_WORKER STATS SUBALLOCATOR "
    "TARGET_AVAILABLE_MEM TARGET_CLEAN_BUFFERS TASK_PROGRESS TRACE_BUFFER_SIZE USE_NUMA WATCHDOG_CRASH WATCHDOG_DELAY "
    "WORKERS_GETBIND WORKERS_NOBIND WORKER_TREE";

/// Those that it and its schedulers read as numbers with a fraction.
constexpr const char* kFractions[] = {"STARPU_EXP_LEN_THRESHOLD", "STARPU_IDLE_POWER", "STARPU_SCHED_ALPHA",
                                      "STARPU_SCHED_BETA", "STARPU_SCHED_GAMMA"};

/// The processors of its threads. StarPU follows a null pointer for one that the machine has not.
constexpr const char* kProcessors[] = {"STARPU_MAIN_THREAD_COREID", "STARPU_MAIN_THREAD_CPUID",
                                       "STARPU_MPI_THREAD_COREID", "STARPU_MPI_THREAD_CPUID"};

/// Lists of processors, of which ranges are as 0-3, or 2- to the last one.
constexpr const char* kLists[] = {"STARPU_WORKERS_COREID", "STARPU_WORKERS_CPUID"};

/// They become parts of file names.
constexpr const char* kHostNames[] = {"STARPU_HOSTNAME", "STARPU_MPI_HOSTNAMES"};

std::optional<std::string> variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
}

[[noreturn]] void refuse(const std::string& name, const std::string& value, const std::string& allowed) {
    throw ApiError(EINVAL, "Environment variable {}: \"{}\" is not usable, it must be {}.", name, value, allowed);
}

void check_numbers() {
    for (const std::string_view word : split(kNumbers, ' ')) {
        const std::string name = "STARPU_" + std::string(word);
        const auto value = variable(name.c_str());
        // StarPU takes an empty text as 0.
        if (value && !value->empty() && parse_number<int>(*value).value_or(-1) < 0)
            refuse(name, *value, fmt::format("a whole number from 0 to {}", std::numeric_limits<int>::max()));
    }
}

bool is_list(const std::string& text) {
    const std::regex form(" *[0-9]{1,9}((-|-?[ ,]+)[0-9]{1,9})*-?[ ,]*");
    return std::regex_match(text, form);
}

void check_other_values() {
    const auto check = [](const auto& names, const std::string& allowed, auto&& usable) {
        for (const char* name : names)
            if (const auto value = variable(name); value && !usable(*value)) refuse(name, *value, allowed);
    };
    check(kFractions, "a number", [](const std::string& value) {
        return value.empty() ||
               std::isfinite(parse_number<double>(value).value_or(std::numeric_limits<double>::infinity()));
    });
    check(kLists, "numbers of processors, as 0,2 or 0-3", is_list);
    check(kHostNames, "a name without /",
          [](const std::string& value) { return value.find('/') == std::string::npos; });
    check(std::array{"STARPU_NTHREADS_PER_CORE"}, "a whole number, at least 1",
          [](const std::string& value) { return parse_number<int>(value).value_or(0) > 0; });
#ifndef STARPU_SIMGRID
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    check(kProcessors, fmt::format("one of this machine's processors, from 0 to {}", processors - 1),
          [&](const std::string& value) { return value.empty() || parse_number<int>(value).value_or(0) < processors; });
#endif
}

/// Where StarPU keeps what it measures.
fs::path models_folder() {
    if (const auto chosen = variable("STARPU_PERF_MODEL_DIR")) return *chosen;
    for (const char* name : {"XDG_CACHE_HOME", "STARPU_HOME", "HOME"})
        if (const auto home = variable(name)) return fs::path(*home) / ".starpu" / "sampling";
    return {};
}

/// As StarPU does it: with all folders above, for the user alone. Returns errno, or 0.
int make_folder(const fs::path& folder) {
    fs::path part;
    for (const fs::path& name : folder) {
        part /= name;
        const int error = mkdir(part.c_str(), S_IRWXU) == 0 ? 0 : errno;
        std::error_code missing;
        if (error != 0 && !fs::is_directory(part, missing)) return error;
    }
    return 0;
}

void check_models_folder() {
    const fs::path folder = models_folder();
    if (folder.empty()) return;  // StarPU takes one for temporary files
    for (const char* part : {"bus", "codelets"}) {
        int error = make_folder(folder / part);
        std::error_code ignored;
        // What is there can be used where nothing can be added.
        if (error == 0 && access((folder / part).c_str(), W_OK | X_OK) != 0 && fs::is_empty(folder / part, ignored))
            error = errno;
        if (error == 0) continue;
        throw ApiError(error,
                       "StarPU cannot keep its measurements in {}: {}; set STARPU_HOME or STARPU_PERF_MODEL_DIR to a "
                       "folder that you may write to",
                       (folder / part).string(), std::strerror(error));
    }
}

void tell_home_folder() {
    const std::string home = variable("HOME").value_or("");
    if (!home.empty() || variable("XDG_CACHE_HOME") || variable("STARPU_HOME")) return;
    try {
        setenv("STARPU_HOME", home_folder().c_str(), 0);
    } catch (const FileError&) {
        // A user without a home: StarPU says what it uses instead.
    }
}

}  // namespace

void check_starpu_environment() {
    check_numbers();
    check_other_values();
    tell_home_folder();
    check_models_folder();
}

void leave_tasks_unlimited() {
    constexpr const char* kLimit = "STARPU_LIMIT_MAX_SUBMITTED_TASKS";
    const auto value = variable(kLimit), least = variable("STARPU_LIMIT_MIN_SUBMITTED_TASKS");
    const auto counts = [](const auto& its) {
        return its && (its->empty() || parse_number<int>(*its).value_or(-1) >= 0);
    };
    if (counts(value) && counts(least))  // StarPU needs both
        throw ApiError(EINVAL,
                       "Environment variable {}: \"{}\": a load submits its next block where one ends, and StarPU "
                       "cannot wait there for other tasks to end; unset it.",
                       kLimit, *value);
    starpu_set_limit_max_submitted_tasks(-1);  // what the program has set cannot be asked for
    starpu_set_limit_min_submitted_tasks(-1);
}

}  // namespace apportion
