// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Platform files with nodes.
#include "test/codelets/simulated/platform_text.hpp"

using namespace apportion::simulated;
using namespace apportion::simulated::test;

namespace {

const std::string kCluster = kGood + R"([[device]]
name = "core"
kind = "cpu"
[[node]]
name = "a b"
devices = { "core" = 4 }
network = { bytes_per_s = 2e9, latency_s = 1e-6 }
[[node]]
name = "gpus"
count = 3
devices = { "gpu" = 2, "core" = 1 }
network = { bytes_per_s = 1e9 }
bus = { bytes_per_s = 5e9, latency_s = 2e-6 }
)";

}  // namespace

TEST_CASE("nodes of a cluster have devices of the platform, a network, and their own bus") {
    const Folder folder;
    const Platform cluster = load_platform(folder.write("cluster.toml", kCluster));
    CHECK(cluster.node_count() == 4);
    CHECK(cluster.node(0).network_bytes_per_s == 2e9);
    CHECK(cluster.node(0).network_latency_s == 1e-6);
    CHECK(node_host(cluster, 0) == "a-b");
    CHECK(node_host(cluster, 1) == "gpus-1");
    CHECK(node_host(cluster, 3) == "gpus-3");
    const Platform first = machine_of_node(cluster, 0), last = machine_of_node(cluster, 3);
    CHECK(first.nodes.empty());
    CHECK(first.count(DeviceKind::cpu) == 4);
    CHECK(first.count(DeviceKind::cuda) == 0);
    CHECK(last.count(DeviceKind::cpu) == 1);
    CHECK(last.count(DeviceKind::cuda) == 2);
    const Device& gpu = last.device(DeviceKind::cuda, 1);
    CHECK(last.links.at(static_cast<std::size_t>(gpu.link)).bytes_per_s == 5e9);
    CHECK(gpu.latency_s == 2e-6);
    CHECK(gpu.kernels.at("k").rate == 1e9);
    CHECK(load_platform(folder.write("machine.toml", kGood)).node_count() == 0);
}

TEST_CASE("all devices of a node drift with it, those of other nodes do not") {
    const Folder folder;
    const std::string text = replaced(kCluster, "count = 3\n", "count = 3\ndrift = { factor = 3, from_s = 10 }\n");
    const Platform cluster = load_platform(folder.write("cluster.toml", text));
    CHECK(machine_of_node(cluster, 0).device(DeviceKind::cpu, 0).drift_factor == 1);
    for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda}) {
        const Platform machine = machine_of_node(cluster, 2);
        CHECK(machine.device(kind, 0).drift_factor == 3);
        CHECK(machine.device(kind, 0).drift_from_s == 10);
    }
}

TEST_CASE("a mistake in a node is reported with file, line and what to do") {
    const Folder folder;
    const auto with = [&](const std::string& what, const std::string& by) {
        return complaint(folder.write("bad.toml", replaced(kCluster, what, by)));
    };
    CHECK(with("name = \"a b\"\n", "") == "bad.toml:16: a node lacks name; add name = \"...\"");
    CHECK(with("{ \"core\" = 4 }", "{ \"cores\" = 4 }") ==
          "bad.toml:18: there is no device cores; the devices are: gpu, core");
    CHECK(with("{ \"core\" = 4 }", "{ \"core\" = 0 }") ==
          "bad.toml:18: core of devices must be a whole number from 1 to 1024");
    CHECK(with("{ \"core\" = 4 }", "[\"core\"]") == "bad.toml:18: devices must be a table, devices = { ... }");
    CHECK(with("devices = { \"core\" = 4 }\n", "") ==
          "bad.toml:16: node a b has no device; add devices = { \"NAME\" = COUNT }");
    CHECK(with("network = { bytes_per_s = 1e9 }\n", "") ==
          "bad.toml:20: node gpus has no network; add network = { bytes_per_s = NUMBER, latency_s = NUMBER }");
    CHECK(with("network = { bytes_per_s = 1e9 }", "network = { latency_s = 1 }") ==
          "bad.toml:24: a network lacks bytes_per_s; add bytes_per_s = NUMBER");
    CHECK(with("bytes_per_s = 2e9,", "bytes_per_s = 2,") ==
          "bad.toml:19: bytes_per_s is 2, but must be from 1000 to 1e+15");
    CHECK(with("count = 3", "count = 1025").find("count must be a whole number from 1 to 1024") != std::string::npos);
    CHECK(with("count = 3", "count = 1024") == "bad.toml:22: a platform has at most 1024 nodes; remove some");
    CHECK(with("count = 3", "speed = 3").find("a node has no key speed; its keys are ") != std::string::npos);
    CHECK(with("\"gpus\"", "\"a b\"") == "bad.toml:21: there are two nodes a b; rename one, or give a count");
    CHECK(
        with("\"gpus\"\ncount = 3", "\"a-b\"") ==
        "bad.toml:1: two nodes would have the same host name, a-b; give nodes names that differ in letters and digits");
    CHECK(with("name = \"core\"", "name = \"gpu\"") ==
          "bad.toml:18: there is no device core; the devices are: gpu, gpu");
    CHECK(with("{ \"core\" = 4 }", "{ \"gpu\" = 4 }\nbus = 3") == "bad.toml:19: bus must be a table, bus = { ... }");
}

TEST_CASE("a cluster is no single machine") {
    const Folder folder;
    const std::string file = folder.write("cluster.toml", kCluster);
    CHECK_THROWS_WITH(
        load_machine(file),
        ContainsSubstring("cluster.toml:1: the platform is a cluster of 4 nodes, and this is for a single"));
    CHECK(load_machine(folder.write("machine.toml", kGood)).devices.size() == 1);
}
