// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/simulated/machine_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <functional>
#include <ostream>
#include <string_view>

#include "codelets/simulated/machine_xml.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "models/io/files.hpp"
#include "models/io/text.hpp"

namespace apportion::simulated {

namespace fs = std::filesystem;

namespace {

// Limits of the simulated flavour as tools/starpu-recipe configures it.
constexpr int kMostCuda = 16;
constexpr int kMostCpus = 512;
constexpr int kMatrixSize = 32;              // nodes that the bandwidth and latency files have room for
constexpr std::size_t kLongestFolder = 180;  // StarPU keeps whole paths in 256 bytes

// What every simulated StarPU is told: the platform's times contain all that a block costs.
const EnvironmentChange kNoMallocCost{"STARPU_SIMGRID_CUDA_MALLOC_COST", "0"},
    kNoQueueCost{"STARPU_SIMGRID_CUDA_QUEUE_COST", "0"};

/// One line a node, columns by tabs; nodes that do not exist are nan.
std::string matrix(std::size_t nodes, const std::function<double(std::size_t, std::size_t)>& value) {
    std::string text;
    for (std::size_t from = 0; from < kMatrixSize; ++from)
        for (std::size_t to = 0; to < kMatrixSize; ++to) {
            if (to > 0) text += '\t';
            if (from >= nodes || to >= nodes)
                text += "nan";
            else
                text += fmt::format("{:.9e}", from == to ? 0 : value(from, to));
            if (to + 1 == kMatrixSize) text += '\n';
        }
    return text;
}

std::string bandwidth_file(const Platform& platform, const std::vector<const Device*>& cuda) {
    const auto megabytes_per_s = [&](std::size_t from, std::size_t to) {
        double slowest = INFINITY;
        for (std::size_t node : {from, to})
            if (node > 0) slowest = std::min(slowest, platform.links[cuda[node - 1]->link].bytes_per_s);
        return slowest / 1e6;
    };
    return "# MB/s from (line) to (column)\n" + matrix(cuda.size() + 1, megabytes_per_s);
}

std::string latency_file(const std::vector<const Device*>& cuda) {
    const auto microseconds = [&](std::size_t from, std::size_t to) {
        double sum = 0;
        for (std::size_t node : {from, to})
            if (node > 0) sum += cuda[node - 1]->latency_s;
        return sum * 1e6;
    };
    return "# us from (line) to (column)\n" + matrix(cuda.size() + 1, microseconds);
}

std::string config_file(int cpus, std::size_t cuda) {
    return fmt::format(
        "# Current configuration\n{} # Number of CPUs\n1 # Number of NUMA nodes\n{} # Number of CUDA "
        "devices\n0 # Number of OpenCL devices\n",
        cpus, cuda);
}

/// Throws UserError.
void check_size(const Platform& machine, const std::string& what) {
    const int cuda = machine.count(DeviceKind::cuda), cpus = machine.count(DeviceKind::cpu) + cuda;
    if (cuda > kMostCuda)
        throw UserError("{}:1: {} has {} cuda devices, but StarPU is built for {}; remove some", machine.file.string(),
                        what, cuda, kMostCuda);
    if (cpus > kMostCpus)
        throw UserError(
            "{}:1: {} needs {} CPUs (cpu devices, and one for each cuda device), but StarPU is built for {}; remove "
            "some",
            machine.file.string(), what, cpus, kMostCpus);
}

/// Makes `folder`/bus. Returns the folder's absolute path.
fs::path make_folder(const fs::path& folder) {
    const fs::path absolute = fs::absolute(folder).lexically_normal();
    if (absolute.string().size() > kLongestFolder)
        throw UserError("{}: this path is too long for StarPU; choose a folder whose path has at most {} characters",
                        absolute.string(), kLongestFolder);
    std::error_code failed;
    fs::create_directories(absolute / "bus", failed);
    if (failed)
        throw UserError("{}: this folder cannot be made: {}; choose another one", (absolute / "bus").string(),
                        failed.message());
    return absolute;
}

void write_file(const fs::path& file, const std::string& content) {
    replace_file(file.string(), [&](std::ostream& out) { out << content; });
}

/// What StarPU would have measured of the machine.
void write_measurements(const Platform& machine, const fs::path& folder, const std::string& host) {
    const std::vector<const Device*> cuda = cuda_devices(machine);
    const fs::path file = folder / "bus" / host;
    write_file(file.string() + ".config",
               config_file(machine.count(DeviceKind::cpu) + static_cast<int>(cuda.size()), cuda.size()));
    write_file(file.string() + ".bandwidth", bandwidth_file(machine, cuda));
    write_file(file.string() + ".latency", latency_file(cuda));
}

}  // namespace

/// The letters, digits, '-' and '.' of its name.
std::string host_name(const Platform& platform) {
    constexpr std::size_t kLongest = 60;
    std::string name = platform.name.substr(0, kLongest);
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '-';
    return name;
}

std::vector<EnvironmentChange> write_machine_files(const Platform& platform, const fs::path& folder) {
    check_size(platform, "the platform");
    const fs::path absolute = make_folder(folder);
    const std::string host = host_name(platform);
    write_measurements(platform, absolute, host);
    write_file(absolute / "bus" / (host + ".platform.v4.xml"), machine_xml(platform));
    return {{"APPORTION_PLATFORM", platform.file.string()},
            {"STARPU_PERF_MODEL_DIR", absolute.string()},
            {"STARPU_HOSTNAME", host},
            {"STARPU_NCPU", std::to_string(platform.count(DeviceKind::cpu))},
            {"STARPU_NCUDA", std::to_string(platform.count(DeviceKind::cuda))},
            {"STARPU_NOPENCL", "0"},
            kNoMallocCost,
            kNoQueueCost};
}

ClusterFiles write_cluster_files(const Platform& cluster, const fs::path& folder) {
    const int nodes = cluster.node_count();
    for (int rank = 0; rank < nodes; ++rank)
        check_size(machine_of_node(cluster, rank), fmt::format("node {}", cluster.node(rank).name));
    const fs::path absolute = make_folder(folder);
    const std::string path = absolute.string();
    if (std::ranges::any_of(path, [](unsigned char c) { return std::isspace(c) || std::strchr("*?[", c); }))
        throw UserError("{}: smpirun does not accept white space or any of *?[ in this path; choose another folder",
                        path);
    std::string hosts, mpi_hosts;
    for (int rank = 0; rank < nodes; ++rank) {
        const std::string host = node_host(cluster, rank);
        write_measurements(machine_of_node(cluster, rank), absolute, host);
        hosts += (rank == 0 ? "" : " ") + host;
        mpi_hosts += mpi_host(rank) + "\n";
    }
    const std::string xml = (absolute / "cluster.xml").string(), hostfile = (absolute / "hosts").string();
    write_file(xml, cluster_xml(cluster));
    write_file(hostfile, mpi_hosts);
    ClusterFiles files;
    // Bandwidth and latency as they are given, as in machine_xml.cpp; nothing of the programs' own time counts.
    constexpr std::string_view kSettings =
        "--cfg=network/model:CM02 --cfg=smpi/simulate-computation:no --cfg=smpi/host-speed:1f "
        "--cfg=smpi/privatization:dlopen --cfg=contexts/stack-size:8192 --log=xbt_cfg.thres:warning";
    files.launcher = {"smpirun", "-quiet", "-platform", xml, "-hostfile", hostfile, "-np", std::to_string(nodes)};
    for (const std::string_view setting : split(kSettings, ' ')) files.launcher.emplace_back(setting);
    files.environment = {{"APPORTION_PLATFORM", cluster.file.string()},
                         {"STARPU_PERF_MODEL_DIR", absolute.string()},
                         {"STARPU_MPI_HOSTNAMES", hosts},
                         {"STARPU_NOPENCL", "0"},
                         kNoMallocCost,
                         kNoQueueCost};
    // It is one environment for nodes that differ.
    for (const char* name : {"STARPU_HOSTNAME", "STARPU_NCPU", "STARPU_NCPUS", "STARPU_NCUDA"})
        files.environment.push_back({name, "", true});
    return files;
}

fs::path machine_files_cache(const Platform& platform) {
    const std::size_t key = std::hash<std::string>{}(platform.file.string());
    return cache_folder() / "platforms" / fmt::format("{}-{:08x}", host_name(platform), key & 0xffffffff);
}

}  // namespace apportion::simulated
