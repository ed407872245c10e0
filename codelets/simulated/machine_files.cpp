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

#include "codelets/simulated/platform_file.hpp"
#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"

namespace apportion::simulated {

namespace fs = std::filesystem;

namespace {

// SimGrid's description of a platform.
//
// Main memory and each cuda device are hosts of SimGrid. A shared link is two, one for each direction, that the routes
// of all its devices contain (one when it is not full-duplex), so that transfers at the same time share its bandwidth;
// each device adds a link that has its latency only. Data between devices go through main memory's links. StarPU keeps
// one CPU for the driver of every cuda device.
//
// In a cluster each node is a zone named as StarPU-MPI expects it. The ranks' MPI runs on hosts of a zone of their own,
// the network, where each has a link to the others and one from them.

constexpr double kStarpuShare = 0.9;  // of a device's memory that StarPU uses; the rest is the driver's
constexpr double kMebi = 1024.0 * 1024.0;

// Speed of simulated processors: their times are given in seconds, so that any speed would do.
constexpr const char* kSpeed = "2000000000f";
constexpr const char* kUnbounded = "1000000000000000Bps";

/// For XML, which knows no control characters.
std::string escaped(const std::string& text) {
    std::string out;
    for (char c : shown(text)) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '"')
            out += "&quot;";
        else
            out += c;
    }
    return out;
}

/// Memory that StarPU has to be told so that it uses all of the device's.
std::uint64_t memory_to_tell(const Device& device) {
    const double mebibytes = std::ceil(std::ceil(device.memory_bytes / kMebi) / kStarpuShare);
    return static_cast<std::uint64_t>((mebibytes + 1) * kMebi);
}

std::string link_xml(const std::string& id, const std::string& bandwidth, double latency_s, bool shared) {
    return fmt::format("  <link id=\"{}\" bandwidth=\"{}\" latency=\"{:.9f}s\" sharing_policy=\"{}\"/>\n", id,
                       bandwidth, latency_s, shared ? "SHARED" : "FATPIPE");
}

std::string bytes_per_s(double value) { return fmt::format("{:.6f}Bps", value); }

std::string route_xml(const std::string& from, const std::string& to, const std::vector<std::string>& links) {
    std::string text = fmt::format("  <route src=\"{}\" dst=\"{}\" symmetrical=\"NO\">\n", from, to);
    for (const std::string& id : links) text += fmt::format("   <link_ctn id=\"{}\"/>\n", id);
    return text + "  </route>\n";
}

// The name tells StarPU that devices have no direct connection.
constexpr const char* kHostLink = "Host";
std::string host_link() { return link_xml(kHostLink, kUnbounded, 0, false); }

/// The cuda devices one by one, as StarPU counts them.
std::vector<const Device*> cuda_devices(const Platform& machine) {
    std::vector<const Device*> devices;
    for (int d = 0; d < machine.count(DeviceKind::cuda); ++d) devices.push_back(&machine.device(DeviceKind::cuda, d));
    return devices;
}

/// The host of a rank in the network.
std::string mpi_host(int rank) { return fmt::format("rank{}", rank); }

/// One machine.
class Zone {
  public:
    /// `prefix` of the names of its hosts and links, but for that of the link kHostLink.
    Zone(const Platform& platform, std::string prefix)
        : platform_(platform), cuda_(cuda_devices(platform)), prefix_(std::move(prefix)) {}

    std::string text(const std::string& id, bool with_host_link) {
        const int cpus = platform_.count(DeviceKind::cpu) + static_cast<int>(cuda_.size());
        text_ = fmt::format(" <zone id=\"{}\" routing=\"Full\">\n  <host id=\"{}MAIN\" speed=\"1f\"/>\n", id, prefix_);
        for (int cpu = 0; cpu < cpus; ++cpu)
            text_ += fmt::format("  <host id=\"{}CPU{}\" speed=\"{}\"/>\n", prefix_, cpu, kSpeed);
        for (std::size_t d = 0; d < cuda_.size(); ++d) add_host(d);
        text_ += fmt::format("  <host id=\"{}RAM\" speed=\"1f\"/>\n", prefix_);
        add_links();
        if (with_host_link) text_ += host_link();
        add_routes();
        return text_ + " </zone>\n";
    }

  private:
    void add_host(std::size_t d) {
        text_ += fmt::format(
            "  <host id=\"{}CUDA{}\" speed=\"{}\">\n"
            "   <prop id=\"model\" value=\"{}\"/>\n"
            "   <prop id=\"memsize\" value=\"{}\"/>\n"
            "   <prop id=\"memcpy_peer\" value=\"1\"/>\n"
            "  </host>\n",
            prefix_, d, kSpeed, escaped(cuda_[d]->name), memory_to_tell(*cuda_[d]));
    }

    /// The part of a route between main memory and a device.
    std::vector<std::string> links_of(std::size_t d, bool to_device) const {
        const Link& link = platform_.links[cuda_[d]->link];
        const std::string name = link.shared ? fmt::format("link{}", cuda_[d]->link) : fmt::format("device{}", d);
        return {prefix_ + name +
                    (!link.full_duplex ? ""
                     : to_device       ? "-in"
                                       : "-out"),
                fmt::format("{}latency{}", prefix_, d)};
    }

    void add_links() {
        std::vector<std::string> done;
        for (std::size_t d = 0; d < cuda_.size(); ++d) {
            for (bool to_device : {true, false}) {
                const std::string id = links_of(d, to_device).front();
                if (std::ranges::find(done, id) != done.end()) continue;
                text_ += link_xml(id, bytes_per_s(platform_.links[cuda_[d]->link].bytes_per_s), 0, true);
                done.push_back(id);
            }
            text_ += link_xml(fmt::format("{}latency{}", prefix_, d), kUnbounded, cuda_[d]->latency_s, false);
        }
    }

    void add_routes() {
        const auto name = [this](std::size_t d) { return fmt::format("{}CUDA{}", prefix_, d); };
        const std::string ram = prefix_ + "RAM";
        for (std::size_t d = 0; d < cuda_.size(); ++d) {
            for (bool to_device : {true, false})
                text_ += route_xml(to_device ? ram : name(d), to_device ? name(d) : ram, links_of(d, to_device));
            for (std::size_t other = 0; other < cuda_.size(); ++other) {
                if (other == d) continue;
                std::vector<std::string> links = links_of(d, false);
                // One link in both directions is there once.
                for (const std::string& id : links_of(other, true))
                    if (std::ranges::find(links, id) == links.end()) links.push_back(id);
                links.emplace_back(kHostLink);
                text_ += route_xml(name(d), name(other), links);
            }
        }
    }

    const Platform& platform_;
    const std::vector<const Device*> cuda_;
    const std::string prefix_;
    std::string text_;
};

/// The hosts of the ranks' MPI.
std::string network_xml(const Platform& cluster) {
    const int nodes = cluster.node_count();
    std::string text = " <zone id=\"network\" routing=\"Full\">\n";
    for (int rank = 0; rank < nodes; ++rank)
        text += fmt::format("  <host id=\"{}\" speed=\"{}\"/>\n", mpi_host(rank), kSpeed);
    for (int rank = 0; rank < nodes; ++rank) {
        const Node& node = cluster.node(rank);
        for (const char* direction : {"out", "in"})
            text += link_xml(fmt::format("network{}-{}", rank, direction), bytes_per_s(node.network_bytes_per_s),
                             node.network_latency_s, true);
    }
    text += host_link();
    for (int from = 0; from < nodes; ++from)
        for (int to = 0; to < nodes; ++to)
            if (from != to)
                text += route_xml(mpi_host(from), mpi_host(to),
                                  {fmt::format("network{}-out", from), fmt::format("network{}-in", to)});
    return text + " </zone>\n";
}

std::string with_header(const std::string& zones) {
    std::string text =
        "<?xml version='1.0'?>\n"
        "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version=\"4.1\">\n"
        " <config id=\"General\">\n";
    // Bandwidth and latency as they are given, without SimGrid's corrections for TCP.
    for (const char* option :
         {"network/TCP-gamma\" value=\"-1", "network/latency-factor\" value=\"1",
          "network/bandwidth-factor\" value=\"1", "network/weight-S\" value=\"0.0", "network/crosstraffic\" value=\"0"})
        text += fmt::format("  <prop id=\"{}\"/>\n", option);
    return text + " </config>\n" + zones + "</platform>\n";
}

std::string machine_xml(const Platform& machine) { return with_header(Zone(machine, "").text("AS0", true)); }

std::string cluster_xml(const Platform& cluster) {
    std::string zones = " <zone id=\"cluster\" routing=\"None\">\n" + network_xml(cluster);
    for (int rank = 0; rank < cluster.node_count(); ++rank) {
        const std::string zone = fmt::format("StarPU-MPI{}", rank);
        zones += Zone(machine_of_node(cluster, rank), zone + "-").text(zone, false);
    }
    return with_header(zones + " </zone>\n");
}

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
    // Bandwidth and latency as they are given, as in machine_xml(); nothing of the programs' own time counts.
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
