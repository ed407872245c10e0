// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Policies as the outer level over many unlike nodes, in virtual time: what they reach, and what their decisions cost.
// A node is its grants' time function: a fixed cost, and the sum of its devices' speeds. All data live on the first
// node, which needs no network; every other grant's input and results share its link, full duplex.
//
// For each number of nodes: makespan over the bound, and over the best plan with true times (the shorter of fpm's and
// hpopta's, which know every node's times and the link), as geometric means over clusters drawn by chance; and the
// seconds that a policy's decisions took in all. Then 16 nodes of which one becomes slower at 30 % of the bound.
//
// nodes_benchmark [CLUSTERS [MOST_NODES]]
//
// nodes_benchmark decisions [NODES [POLICY]]: what decisions take on 64 and 1024 nodes, in seconds and in memory of the
// process that makes them; of loads whose data stay distributed as well.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "policies/shared/node_shares.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;
using test::FakePlatform;
using test::FakeWorker;

namespace {

constexpr double kLink = 12.5e9;     // bytes a second: 100 Gbit/s
constexpr double kNodeSpeed = 2e12;  // operations a second, median
constexpr double kSpread = 0.7;      // standard deviation of the speeds' logarithm: one in twenty is four times as fast
constexpr double kLatency_s = 50e-6;  // of a message
constexpr double kGrant_s = 1e-3;     // fixed, for each grant: StarPU's tasks, fewer large blocks
constexpr double kStallFactor = 50;   // as by default
constexpr double kSecondsAlone = 60;  // the makespan of so many median nodes, without a network

/// Of this process's processor: other programs do not matter.
double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What a call seems to take that does nothing: one reading of that clock, as much as most calls of a policy.
double nothing_s() {
    constexpr int kReadings = 100'000;
    const double begin_s = processor_seconds();
    for (int i = 0; i < 2 * kReadings; ++i) processor_seconds();
    return (processor_seconds() - begin_s) / (2 * kReadings);
}

/// Counts the time of a policy's decisions.
class Timed final : public Policy {
  public:
    explicit Timed(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) {}
    void begin(const LoadDescription& load) override {
        timed([&] { policy_->begin(load); });
    }
    Units next_block(int processor, double now_s, const Progress& progress) override {
        Units units = 0;
        timed([&] { units = policy_->next_block(processor, now_s, progress); });
        return units;
    }
    void block_finished(const FinishedBlock& block) override {
        timed([&] { policy_->block_finished(block); });
    }
    void block_returned(const ReturnedBlock& block) override {
        timed([&] { policy_->block_returned(block); });
    }
    void processor_lost(int processor) override {
        timed([&] { policy_->processor_lost(processor); });
    }
    double seconds() const { return std::max(0.0, seconds_ - static_cast<double>(calls_) * nothing_s()); }

  private:
    template <class Body>
    void timed(Body&& body) {
        const double begin_s = processor_seconds();
        body();
        seconds_ += processor_seconds() - begin_s;
        ++calls_;
    }
    std::unique_ptr<Policy> policy_;
    double seconds_ = 0;
    long calls_ = 0;
};

struct Kernel {
    const char* name;
    double operations_per_unit, bytes_in, bytes_out;
    double units_per_node;  ///< so that the load is as long on every number of nodes
};

FakePlatform cluster(int nodes, const Kernel& kernel, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<> spread(0, kSpread);
    FakePlatform platform;
    platform.links.push_back({kLink});
    platform.stall_factor = kStallFactor;
    platform.bytes_in_per_unit = kernel.bytes_in;
    platform.bytes_out_per_unit = kernel.bytes_out;
    for (int n = 0; n < nodes; ++n) {
        FakeWorker node;
        node.name = "node " + std::to_string(n);
        node.kind = n;
        const double units_per_s = kNodeSpeed * std::exp(spread(random)) / kernel.operations_per_unit;
        node.seconds = [units_per_s](double units) { return kGrant_s + units / units_per_s; };
        node.link = n == 0 ? -1 : 0;
        node.latency_s = kLatency_s;
        platform.workers.push_back(node);
    }
    return platform;
}

/// No run is faster: neither than all nodes at their best together, nor than the link lets units pass.
double bound_s(const FakePlatform& platform, Units units) {
    const double all_s = platform.lower_bound_s(units);
    const double per_unit_s = std::max(platform.bytes_in_per_unit, platform.bytes_out_per_unit) / kLink;
    const double home_s_per_unit = platform.workers[0].seconds(1e6) / 1e6;
    // Units that the link can bring elsewhere while node 0 computes the rest.
    const double units_d = static_cast<double>(units);
    return std::max(all_s, units_d / (1 / per_unit_s + 1 / home_s_per_unit));
}

struct Result {
    double makespan_s = 0, decisions_s = 0;
};

/// Only plans know the link beforehand.
Result result_of(FakePlatform platform, Units units, const char* name) {
    Timed policy(find_policy(name)->make());
    platform.links_known = find_policy(name)->reads_profile();
    LoadDescription load = platform.load(units);
    if (!find_policy(name)->reads_profile() && platform.stall_factor == 0) load.recorded = {};  // nobody reads it
    const double makespan_s = test::run(platform, policy, load).makespan_s;
    return {makespan_s, policy.seconds()};
}

void print_nodes(int nodes, const Kernel& kernel, int clusters, const std::vector<const char*>& policies) {
    struct Sum {
        double over_bound = 0, over_plan = 0, worst = 0, decisions_s = 0;
    };
    std::map<std::string, Sum> sums;
    for (int c = 0; c < clusters; ++c) {
        const FakePlatform platform = cluster(nodes, kernel, static_cast<unsigned>(1000 * nodes + c));
        const Units units = static_cast<Units>(kernel.units_per_node * nodes);
        const double bound = bound_s(platform, units);
        std::map<std::string, Result> results;
        for (const char* name : policies) results[name] = result_of(platform, units, name);
        double plan_s = 1e300;
        for (const char* name : {"fpm", "hpopta"})
            plan_s = std::min(plan_s,
                              (results.contains(name) ? results[name] : result_of(platform, units, name)).makespan_s);
        for (const auto& [name, result] : results) {
            Sum& sum = sums[name];
            sum.over_bound += std::log(result.makespan_s / bound) / clusters;
            sum.over_plan += std::log(result.makespan_s / plan_s) / clusters;
            sum.worst = std::max(sum.worst, result.makespan_s / plan_s);
            sum.decisions_s = std::max(sum.decisions_s, result.decisions_s);
        }
    }
    fmt::print("\n{} on {} nodes, {} cluster{}\n", kernel.name, nodes, clusters, clusters == 1 ? "" : "s");
    fmt::print("  {:<12} {:>8} {:>8} {:>8} {:>12}\n", "policy", "/ bound", "/ plan", "worst", "decisions");
    for (const char* name : policies) {
        const Sum& sum = sums.at(name);
        fmt::print("  {:<12} {:>8.3f} {:>8.3f} {:>8.3f} {:>10.2g} s\n", name, std::exp(sum.over_bound),
                   std::exp(sum.over_plan), sum.worst, sum.decisions_s);
    }
}

/// The fastest node but the first becomes so much slower at 30 % of the bound.
void print_slower(int nodes, const Kernel& kernel, int clusters, double factor,
                  const std::vector<const char*>& policies) {
    std::map<std::string, double> over_best, worst;
    for (int c = 0; c < clusters; ++c) {
        FakePlatform platform = cluster(nodes, kernel, static_cast<unsigned>(1000 * nodes + c));
        const Units units = static_cast<Units>(kernel.units_per_node * nodes);
        const auto speed = [](const FakeWorker& node) { return 1e6 / node.seconds(1e6); };
        auto& slower = *std::max_element(platform.workers.begin() + 1, platform.workers.end(),
                                         [&](const FakeWorker& a, const FakeWorker& b) { return speed(a) < speed(b); });
        slower.drift_at_s = 0.3 * bound_s(platform, units);
        slower.drift_factor = factor;
        double all = 0;
        for (const FakeWorker& node : platform.workers) all += speed(node);
        const double lost = speed(slower) * (1 - 1 / factor);  // units a second
        const double best_s = (static_cast<double>(units) - lost * slower.drift_at_s) / (all - lost);
        for (const char* name : policies) {
            const double over = result_of(platform, units, name).makespan_s / best_s;
            over_best[name] += std::log(over) / clusters;
            worst[name] = std::max(worst[name], over);
        }
    }
    fmt::print("\n{} on {} nodes, the fastest {:g} times slower from 30 % on, {} clusters\n", kernel.name, nodes,
               factor, clusters);
    fmt::print("  {:<12} {:>17} {:>8}\n", "policy", "/ best possible", "worst");
    for (const char* name : policies)
        fmt::print("  {:<12} {:>17.3f} {:>8.3f}\n", name, std::exp(over_best[name]), worst[name]);
}

/// Prints what `body` prints, in a process of its own, and the memory that this took at most.
void print_with_memory(const std::string& name, const std::function<void()>& body) {
    fmt::print("  {:<32}", name);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        body();
        std::fflush(stdout);
        _exit(0);
    }
    int status = 0;
    rusage usage{};
    wait4(child, &status, 0, &usage);
    fmt::print(" {:>8.1f} MB\n", static_cast<double>(usage.ru_maxrss) / 1024);
}

/// The units that the node computes in a run take as long as they do on its own.
void run_iterations(const FakePlatform& platform, Units units, int runs) {
    LoadDescription load = platform.load(units);
    load.runs_expected = runs;
    NodeShares shares(load, {}, false);
    double decisions_s = 0;
    for (int run = 0; run < runs; ++run) {
        std::vector<double> seconds;
        for (std::size_t node = 0; node < platform.workers.size(); ++node)
            seconds.push_back(
                platform.workers[node].seconds(static_cast<double>(shares.ranges().of(static_cast<int>(node)).units)));
        const double begin_s = processor_seconds();
        shares.run_ended(seconds);
        decisions_s += processor_seconds() - begin_s;
    }
    fmt::print(" {:>10.2g} s", decisions_s);
}

void print_decisions(const Kernel& kernel, const std::vector<int>& numbers, const std::vector<const char*>& policies) {
    for (const int nodes : numbers) {
        FakePlatform platform = cluster(nodes, kernel, static_cast<unsigned>(1000 * nodes));
        platform.stall_factor = 0;  // only the policy's decisions are counted, and to look for late grants takes longer
        const Units units = static_cast<Units>(kernel.units_per_node * nodes);
        fmt::print("\n{} on {} nodes: decisions, all in all, and memory\n", kernel.name, nodes);
        print_with_memory("none", [] { fmt::print(" {:>10} s", 0); });
        for (const char* name : policies)
            print_with_memory(name, [&] { fmt::print(" {:>10.2g} s", result_of(platform, units, name).decisions_s); });
        print_with_memory("100 runs on distributed data", [&] { run_iterations(platform, units, 100); });
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int clusters = argc > 1 ? std::atoi(argv[1]) : 20, most = argc > 2 ? std::atoi(argv[2]) : 1024;
    // A column of matmul of order 32768 in single precision; options by Monte Carlo with 10,000 paths, in thousands.
    constexpr double kOrder = 32768, kColumn = 2 * kOrder * kOrder, kOptions = 1000 * 75 * 1e4;
    const Kernel kernels[] = {
        {"matmul 32768", kColumn, 4 * kOrder, 4 * kOrder, kSecondsAlone * kNodeSpeed / kColumn},
        {"blackscholes, a unit is 1000 options", kOptions, 5 * 8e3, 2 * 8e3, kSecondsAlone * kNodeSpeed / kOptions}};
    if (argc > 1 && std::string_view(argv[1]) == "decisions") {
        std::vector<int> numbers{64, 1024};
        std::vector<const char*> asked{"plb-hec", "awf-c", "gss", "cpm", "fpm", "hpopta", "equal"};
        if (argc > 2) numbers = {std::max(1, std::atoi(argv[2]))};
        if (argc > 3) asked = {argv[3]};
        print_decisions(kernels[0], numbers, asked);
        return 0;
    }
    const std::vector<const char*> policies{"fpm", "hpopta",      "cpm",  "plb-hec", "awf-c",
                                            "gss", "fpm-dynamic", "hdss", "greedy",  "equal"};
    for (const Kernel& kernel : kernels)
        for (const int nodes : {4, 16, 64})
            if (nodes <= most) print_nodes(nodes, kernel, clusters, policies);
    if (most >= 1024) print_nodes(1024, kernels[0], 1, {"fpm", "hpopta", "cpm", "plb-hec", "awf-c", "equal"});
    for (const double factor : {3.0, 20.0})
        print_slower(16, kernels[0], clusters, factor, {"plb-hec", "awf-c", "gss", "cpm", "fpm-dynamic", "equal"});
    return 0;
}
