// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/simulated/machine_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <ostream>

#include "codelets/simulated/platform_file.hpp"
#include "models/io/new_file.hpp"
#include "models/io/shown.hpp"
#include "models/io/user_folders.hpp"

namespace apportion::simulated {

namespace fs = std::filesystem;

namespace {

// Limits of the simulated flavour as tools/starpu-flavour configures it.
constexpr int kMostCuda = 16;
constexpr int kMostCpus = 64;
constexpr int kMatrixSize = 32;              // nodes that the bandwidth and latency files have room for
constexpr std::size_t kLongestFolder = 180;  // StarPU keeps whole paths in 256 bytes

constexpr double kStarpuShare = 0.9;  // of a device's memory that StarPU uses; the rest is the driver's
constexpr double kMebi = 1024.0 * 1024.0;

// Speed of simulated processors: their times are given in seconds, so that any speed would do.
constexpr const char* kSpeed = "2000000000f";
constexpr const char* kUnbounded = "1000000000000000Bps";

/// The letters, digits, '-' and '.' of the platform's name, as a host name.
std::string host_name(const Platform& platform) {
    constexpr std::size_t kLongest = 60;
    std::string name = platform.name.substr(0, kLongest);
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '-';
    return name;
}

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

/// The cuda devices one by one, as StarPU counts them.
std::vector<const Device*> cuda_devices(const Platform& platform) {
    std::vector<const Device*> devices;
    for (int d = 0; d < platform.count(DeviceKind::cuda); ++d) devices.push_back(&platform.device(DeviceKind::cuda, d));
    return devices;
}

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

/// SimGrid's description of the machine.
class Xml {
  public:
    Xml(const Platform& platform, const std::vector<const Device*>& cuda) : platform_(platform), cuda_(cuda) {}

    std::string text(int cpus) {
        text_ =
            "<?xml version='1.0'?>\n"
            "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<platform version=\"4.1\">\n"
            " <config id=\"General\">\n";
        // Bandwidth and latency as they are given, without SimGrid's corrections for TCP.
        for (const char* option : {"network/TCP-gamma\" value=\"-1", "network/latency-factor\" value=\"1",
                                   "network/bandwidth-factor\" value=\"1", "network/weight-S\" value=\"0.0",
                                   "network/crosstraffic\" value=\"0"})
            text_ += fmt::format("  <prop id=\"{}\"/>\n", option);
        text_ += " </config>\n <zone id=\"AS0\" routing=\"Full\">\n  <host id=\"MAIN\" speed=\"1f\"/>\n";
        for (int cpu = 0; cpu < cpus; ++cpu) text_ += fmt::format("  <host id=\"CPU{}\" speed=\"{}\"/>\n", cpu, kSpeed);
        for (std::size_t d = 0; d < cuda_.size(); ++d) add_host(d);
        text_ += "  <host id=\"RAM\" speed=\"1f\"/>\n";
        add_links();
        add_routes();
        return text_ + " </zone>\n</platform>\n";
    }

  private:
    void add_host(std::size_t d) {
        text_ += fmt::format(
            "  <host id=\"CUDA{}\" speed=\"{}\">\n"
            "   <prop id=\"model\" value=\"{}\"/>\n"
            "   <prop id=\"memsize\" value=\"{}\"/>\n"
            "   <prop id=\"memcpy_peer\" value=\"1\"/>\n"
            "  </host>\n",
            d, kSpeed, escaped(cuda_[d]->name), memory_to_tell(*cuda_[d]));
    }

    void add_link(const std::string& id, const std::string& bandwidth, double latency_s, bool shared) {
        text_ += fmt::format("  <link id=\"{}\" bandwidth=\"{}\" latency=\"{:.9f}s\" sharing_policy=\"{}\"/>\n", id,
                             bandwidth, latency_s, shared ? "SHARED" : "FATPIPE");
    }

    /// The part of a route between main memory and a device.
    std::vector<std::string> links_of(std::size_t d, bool to_device) const {
        const Link& link = platform_.links[cuda_[d]->link];
        const std::string who = link.shared ? fmt::format("link{}", cuda_[d]->link) : fmt::format("device{}", d);
        return {who + (!link.full_duplex ? "" : to_device ? "-in" : "-out"), fmt::format("latency{}", d)};
    }

    void add_links() {
        std::vector<std::string> done;
        for (std::size_t d = 0; d < cuda_.size(); ++d) {
            for (bool to_device : {true, false}) {
                const std::string id = links_of(d, to_device).front();
                if (std::find(done.begin(), done.end(), id) != done.end()) continue;
                add_link(id, fmt::format("{:.6f}Bps", platform_.links[cuda_[d]->link].bytes_per_s), 0, true);
                done.push_back(id);
            }
            add_link(fmt::format("latency{}", d), kUnbounded, cuda_[d]->latency_s, false);
        }
        // The name tells StarPU that devices have no direct connection.
        add_link("Host", kUnbounded, 0, false);
    }

    void add_route(const std::string& from, const std::string& to, const std::vector<std::string>& links) {
        text_ += fmt::format("  <route src=\"{}\" dst=\"{}\" symmetrical=\"NO\">\n", from, to);
        for (const std::string& id : links) text_ += fmt::format("   <link_ctn id=\"{}\"/>\n", id);
        text_ += "  </route>\n";
    }

    void add_routes() {
        const auto name = [](std::size_t d) { return fmt::format("CUDA{}", d); };
        for (std::size_t d = 0; d < cuda_.size(); ++d) {
            for (bool to_device : {true, false}) {
                add_route(to_device ? "RAM" : name(d), to_device ? name(d) : "RAM", links_of(d, to_device));
            }
            for (std::size_t other = 0; other < cuda_.size(); ++other) {
                if (other == d) continue;
                std::vector<std::string> links = links_of(d, false);
                // One link in both directions is there once.
                for (const std::string& id : links_of(other, true))
                    if (std::find(links.begin(), links.end(), id) == links.end()) links.push_back(id);
                links.emplace_back("Host");
                add_route(name(d), name(other), links);
            }
        }
    }

    const Platform& platform_;
    const std::vector<const Device*>& cuda_;
    std::string text_;
};

}  // namespace

Environment write_machine_files(const Platform& platform, const fs::path& folder) {
    const std::vector<const Device*> cuda = cuda_devices(platform);
    const int workers = platform.count(DeviceKind::cpu);
    const int cpus = workers + static_cast<int>(cuda.size());
    const std::string where = platform.file.string();
    if (cuda.size() > kMostCuda)
        throw PlatformError(
            fmt::format("{}:1: the platform has {} cuda devices, but StarPU is built for {}; remove some", where,
                        cuda.size(), kMostCuda));
    if (cpus > kMostCpus)
        throw PlatformError(
            fmt::format("{}:1: the platform needs {} CPUs (cpu devices, and one for each cuda device), "
                        "but StarPU is built for {}; remove some",
                        where, cpus, kMostCpus));
    const fs::path absolute = fs::absolute(folder).lexically_normal();
    if (absolute.string().size() > kLongestFolder)
        throw PlatformError(
            fmt::format("{}: this path is too long for StarPU; choose a folder whose path has at most {} "
                        "characters",
                        absolute.string(), kLongestFolder));
    std::error_code failed;
    fs::create_directories(absolute / "bus", failed);
    if (failed)
        throw PlatformError(fmt::format("{}: this folder cannot be made: {}; choose another one",
                                        (absolute / "bus").string(), failed.message()));
    const std::string host = host_name(platform);
    const auto write = [&](const char* suffix, const std::string& content) {
        replace_file((absolute / "bus" / (host + suffix)).string(), [&](std::ostream& out) { out << content; });
    };
    write(".config", config_file(cpus, cuda.size()));
    write(".bandwidth", bandwidth_file(platform, cuda));
    write(".latency", latency_file(cuda));
    write(".platform.v4.xml", Xml(platform, cuda).text(cpus));
    return {{"APPORTION_PLATFORM", where},
            {"STARPU_PERF_MODEL_DIR", absolute.string()},
            {"STARPU_HOSTNAME", host},
            {"STARPU_NCPU", std::to_string(workers)},
            {"STARPU_NCUDA", std::to_string(cuda.size())},
            {"STARPU_NOPENCL", "0"},
            // The platform's times contain all that a block costs.
            {"STARPU_SIMGRID_CUDA_MALLOC_COST", "0"},
            {"STARPU_SIMGRID_CUDA_QUEUE_COST", "0"}};
}

fs::path machine_files_cache(const Platform& platform) {
    const std::size_t key = std::hash<std::string>{}(platform.file.string());
    return cache_folder() / "platforms" / fmt::format("{}-{:08x}", host_name(platform), key & 0xffffffff);
}

}  // namespace apportion::simulated
