// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The bundled platforms: all of them can be used, and their time functions give back what was published.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "codelets/simulated/lower_bound.hpp"
#include "codelets/simulated/machine_files.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "policies/planners/assignment/data_assignment.hpp"
#include "policies/planners/assignment/ilp.hpp"
#include "policies/planners/hpopta/hpopta.hpp"
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

/// Seconds of an x x x problem on each device of the platform, as the HPOPTA paper measures: every unit needs work of
/// x.
double square_seconds(const Platform& p, const Device& device, const std::string& kernel, double x) {
    return true_seconds(p, device, kernel, cube(x), x);
}

/// Times of x x x problems, x in steps, on all three devices of hclserver.
PlanProblem square_problems(const Platform& p, const std::string& kernel, Units step, Units largest) {
    PlanProblem problem;
    problem.granularity = step;
    for (const Device& device : p.devices) {
        DiscreteTimes times;
        times.processor = device.name;
        for (Units x = step; x <= largest; x += step) {
            times.points.push_back(x);
            times.seconds.push_back(square_seconds(p, device, kernel, static_cast<double>(x)));
        }
        problem.processors.push_back(std::move(times));
    }
    return problem;
}

Platform without_ripples(Platform p) {
    for (Device& device : p.devices)
        for (auto& [name, time] : device.kernels) time.ripple_height = 0;
    return p;
}

/// Percent by which HPOPTA's distribution takes less time than the best one for the smoothed time functions, as in the
/// paper's section 6.2, over its range of sizes in `count` steps.
std::vector<double> gains(const std::string& kernel, Units step, Units largest, Units smallest_n, Units largest_n,
                          Units count) {
    const Platform p = load_platform("hclserver");
    const PlanProblem real = square_problems(p, kernel, step, largest);
    const PlanProblem smooth = square_problems(without_ripples(p), kernel, step, largest);
    apportion::PreparedHpopta planner(real), smooth_planner(smooth);
    std::vector<double> result;
    for (Units k = 0; k < count; ++k) {
        const Units n = (smallest_n + (largest_n - smallest_n) * k / count) / step * step;
        const auto shares = smooth_planner.plan(n).shares;
        double seconds = 0;
        for (std::size_t i = 0; i < shares.size(); ++i)
            if (shares[i] > 0)
                seconds = std::max(seconds, real.processors[i].seconds[static_cast<std::size_t>(shares[i] / step - 1)]);
        result.push_back(100 * (seconds / planner.makespan_s(n) - 1));
    }
    return result;
}

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Largest difference of speed between neighbouring sizes of the paper's grid, in percent of the lower one.
double largest_variation(const Platform& p, std::size_t device, const std::string& kernel, int step, int from, int to) {
    const auto speed = [&](int x) { return x / true_seconds(p, p.devices[device], kernel, cube(1e4), x); };
    double largest = 0;
    for (int x = from; x + step <= to; x += step) {
        const double a = speed(x), b = speed(x + step);
        largest = std::max(largest, 100 * std::abs(a - b) / std::min(a, b));
    }
    return largest;
}

struct Shares {
    int size;
    double cpu, gpu, phi;
};

void check_relative_speeds(const std::string& kernel, const std::vector<Shares>& published) {
    const Platform p = load_platform("hclserver");
    for (const Shares& s : published) {
        double speeds[3], sum = 0;
        for (int i = 0; i < 3; ++i) sum += speeds[i] = 1 / square_seconds(p, p.devices[i], kernel, s.size);
        CHECK(speeds[0] / sum == Approx(s.cpu).margin(0.001));
        CHECK(speeds[1] / sum == Approx(s.gpu).margin(0.001));
        CHECK(speeds[2] / sum == Approx(s.phi).margin(0.001));
    }
}

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

TEST_CASE("hclserver has the relative speeds of the HPOPTA paper") {
    check_relative_speeds("matmul", {{4736, 0.34, 0.59, 0.07}, {28672, 0.27, 0.55, 0.18}, {44800, 0.27, 0.49, 0.24}});
    check_relative_speeds("fft2d", {{4320, 0.18, 0.78, 0.04}, {13824, 0.69, 0.26, 0.05}, {24000, 0.60, 0.35, 0.05}});
}

TEST_CASE("hclserver varies as much as the HPOPTA paper's server, and where it does") {
    const Platform p = load_platform("hclserver");
    CHECK(largest_variation(p, 0, "matmul", 64, 64, 44800) == Approx(700).epsilon(0.05));
    CHECK(largest_variation(p, 0, "matmul", 64, 28672, 44800) < 29);
    CHECK(largest_variation(p, 1, "matmul", 64, 512, 44800) == Approx(50).epsilon(0.05));
    CHECK(largest_variation(p, 2, "matmul", 64, 4096, 13760) < 3);
    CHECK(largest_variation(p, 2, "matmul", 64, 12800, 19200) == Approx(150).epsilon(0.05));
    CHECK(largest_variation(p, 0, "fft2d", 16, 16, 24000) == Approx(350).epsilon(0.05));
    CHECK(largest_variation(p, 1, "fft2d", 16, 16, 24000) == Approx(560).epsilon(0.05));
    CHECK(largest_variation(p, 2, "fft2d", 16, 16, 800) == Approx(200).epsilon(0.05));
    CHECK(largest_variation(p, 2, "fft2d", 16, 816, 24000) < 100);
}

TEST_CASE("HPOPTA gains on hclserver what the paper reports on average") {
    const auto dgemm = gains("matmul", 64, 44800, 6400, 134400, 285);
    CHECK(mean(dgemm) == Approx(14).margin(2));
    CHECK(*std::max_element(dgemm.begin(), dgemm.end()) > 100);
    CHECK(*std::min_element(dgemm.begin(), dgemm.end()) >= 0);
    const auto fft = gains("fft2d", 16, 24000, 1600, 72000, 260);
    CHECK(mean(fft) == Approx(40).margin(5));
    CHECK(*std::max_element(fft.begin(), fft.end()) > 200);
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
