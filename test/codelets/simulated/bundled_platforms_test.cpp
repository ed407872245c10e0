// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The bundled platforms: all of them can be used, and their time functions give back what was published; of hclserver
// that is found again with HPOPTA's tables.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "codelets/simulated/lower_bound.hpp"
#include "codelets/simulated/machine_files.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "policies/planners/assignment/data_assignment.hpp"
#include "policies/planners/imbalance.hpp"
#include "test/catch.hpp"
#include "test/folder.hpp"
#include "test/published/gdansk.hpp"
#include "test/published/mpdata.hpp"
#include "test/published/starpu_machines.hpp"

using namespace apportion::simulated;
using apportion::DiscreteTimes;
using apportion::PlanProblem;
using apportion::Units;
namespace fs = std::filesystem;

namespace {

const Device& first_of(const Platform& p, DeviceKind kind) { return p.device(kind, 0); }

KernelSize cube(double n) { return {.m = n, .n = n, .k = n}; }

void check_tiles(const std::string& name, const std::vector<published::starpu_machines::Tile>& tiles,
                 double gpu_error) {
    const Platform p = load_platform(name);
    for (const auto& tile : tiles) {
        CHECK(true_seconds(p, first_of(p, DeviceKind::cpu), "matmul", cube(tile.b), tile.b) ==
              Approx(tile.core_us * 1e-6).epsilon(2e-3));
        for (double us : tile.gpu_us)
            CHECK(true_seconds(p, first_of(p, DeviceKind::cuda), "matmul", cube(tile.b), tile.b) ==
                  Approx(us * 1e-6).epsilon(gpu_error));
    }
}

/// Seconds of 40 steps of a team with so many frames of `width` x 128 cells.
double team_seconds(const Platform& p, int width, int frames) {
    return 40 * true_seconds(p, p.devices[0], "mpdata", {.m = 4.0 * width, .n = 1.0 * width, .k = 128}, frames);
}

}  // namespace

TEST_CASE("every bundled platform has devices with kernels, a lower bound and StarPU's machine files") {
    const apportion::Folder files;
    const fs::path& folder = files.path();
    REQUIRE(bundled_platforms().size() >= 9);
    for (const std::string& name : bundled_platforms()) {
        INFO(name);
        const Platform p = load_platform(name);
        CHECK(p.name == name);
        CHECK(p.description != "no description");
        CHECK(p.description.size() <= 100);
        for (const Device& device : p.devices) {
            CHECK_FALSE(device.kernels.empty());
            for (const auto& [kernel, time] : device.kernels) {
                for (double x : {1.0, 7.0, 1000.0, 1e6}) {
                    const double seconds = true_seconds(p, device, kernel, cube(2048), x);
                    CHECK(std::isfinite(seconds));
                    CHECK(seconds > 0);
                }
                CHECK(std::isfinite(lower_bound_seconds(p, kernel, cube(2048), 2048)));
            }
        }
        if (!p.nodes.empty()) {
            CHECK(write_cluster_files(p, folder / name).launcher.front() == "smpirun");
            CHECK(fs::exists(folder / name / "cluster.xml"));
            continue;
        }
        CHECK_FALSE(write_machine_files(p, folder / name).empty());
        CHECK(fs::exists(folder / name / "bus" / (name + ".platform.v4.xml")));
    }
}

TEST_CASE("sirocco's and mirage's tiles take as long as StarPU recorded") {
    check_tiles("sirocco", published::starpu_machines::kSirocco, 0.025);
    // One of mirage's three GPUs is 20 % faster than the others with tiles of 320.
    check_tiles("mirage", {published::starpu_machines::kMirage.begin() + 1, published::starpu_machines::kMirage.end()},
                0.015);
    check_tiles("mirage", {published::starpu_machines::kMirage.front()}, 0.17);
}

TEST_CASE("StarPU keeps a core for each GPU of its recorded machines") {
    for (const auto& [name, cores] : {std::pair("sirocco", 24), std::pair("mirage", 12)}) {
        const Platform p = load_platform(name);
        CHECK(p.count(DeviceKind::cpu) + p.count(DeviceKind::cuda) == cores);
    }
}

TEST_CASE("xeonphi-teams takes the measured times at every offset, and Algorithm 1 finds the published one") {
    using namespace published::mpdata;
    const Platform p = load_platform("xeonphi-teams");
    CHECK(p.count(DeviceKind::cpu) == kTeams);
    const auto check = [&](int width, int balanced, const auto& offsets) {
        for (const Offset& o : offsets)
            CHECK(std::max(team_seconds(p, width, balanced + o.frames), team_seconds(p, width, balanced - o.frames)) ==
                  Approx(o.seconds).epsilon(5e-4));
    };
    check(120, kBalanced240, kMeasured240);
    check(240, kBalanced480, kMeasured480);

    const auto best_offset = [&](int width, int balanced, int most) {
        PlanProblem problem;
        problem.units = Units{kTeams} * balanced;
        problem.granularity = kGranularity;
        DiscreteTimes times{"team", {}, {}};
        for (int frames = balanced - most; frames <= balanced + most; frames += kGranularity) {
            times.points.push_back(frames);
            times.seconds.push_back(team_seconds(p, width, frames));
        }
        problem.processors.assign(kTeams, times);
        return apportion::plan_imbalance(problem).shares.back() - balanced;
    };
    CHECK(best_offset(120, kBalanced240, 12) == 8);
    CHECK(best_offset(240, kBalanced480, 24) == 20);
}

TEST_CASE("gdansk's devices and networks give the published optimal times") {
    using namespace published::gdansk;
    const Platform p = load_platform("gdansk");
    REQUIRE(p.count(DeviceKind::cuda) == static_cast<int>(kUnits));
    const auto optimum = [&](int unknowns, double packet_bytes, Units packets) {
        apportion::DataAssignment problem;
        problem.packets = packets;
        for (const Link& link : p.links)
            problem.nodes.push_back({link.name, link.latency_s, packet_bytes / link.bytes_per_s, apportion::kNoLimit});
        for (const Device& device : p.devices)
            problem.units.push_back({device.name, static_cast<std::size_t>(device.link),
                                     true_seconds(p, device, "jacobi_batch", {.m = 0, .n = 1.0 * unknowns, .k = 0}, 1),
                                     0, apportion::kNoLimit});
        return apportion::plan_ilp(problem).makespan_s;
    };
    for (const Size& size : kSizes)
        for (const Column& column : size.columns)
            CHECK(optimum(size.unknowns, size.input_bytes + size.result_bytes, column.packets) ==
                  Approx(column.time_s).epsilon(1e-3));
    // Table 3, where memory does not limit anybody; start-up and clean-up are not published at this size.
    const std::pair<Units, double> table_3[] = {{64, 32.357},   {128, 63.368},  {256, 125.485},
                                                {512, 248.674}, {768, 373.620}, {1024, 496.441}};
    for (const auto& [packets, seconds] : table_3)
        CHECK(optimum(2048, kInputBytesOf2048 + kResultBytesOf2048, packets) == Approx(seconds).epsilon(0.04));
}
