// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/simulated/machine_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/io/shown.hpp"

namespace apportion::simulated {

namespace {

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

}  // namespace

std::vector<const Device*> cuda_devices(const Platform& machine) {
    std::vector<const Device*> devices;
    for (int d = 0; d < machine.count(DeviceKind::cuda); ++d) devices.push_back(&machine.device(DeviceKind::cuda, d));
    return devices;
}

std::string mpi_host(int rank) { return fmt::format("rank{}", rank); }

std::string machine_xml(const Platform& machine) { return with_header(Zone(machine, "").text("AS0", true)); }

std::string cluster_xml(const Platform& cluster) {
    std::string zones = " <zone id=\"cluster\" routing=\"None\">\n" + network_xml(cluster);
    for (int rank = 0; rank < cluster.node_count(); ++rank) {
        const std::string zone = fmt::format("StarPU-MPI{}", rank);
        zones += Zone(machine_of_node(cluster, rank), zone + "-").text(zone, false);
    }
    return with_header(zones + " </zone>\n");
}

}  // namespace apportion::simulated
