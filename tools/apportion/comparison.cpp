// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "codelets/simulated/lower_bound.hpp"
#include "policies/policy.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

// StarPU 1.4's schedulers; any name that begins with modular- is one as well.
constexpr const char* kStarpuSchedulers[] = {"eager", "prio",   "random",          "lws",       "ws",     "dm",
                                             "dmda",  "dmdap",  "dmdar",           "dmdas",     "dmdasd", "heteroprio",
                                             "pheft", "peager", "parallel-random", "graph_test"};

/// Indices of the runs by their makespans.
std::vector<std::size_t> by_makespan(const std::vector<RunResult>& runs) {
    std::vector<std::size_t> order(runs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return runs[i].makespan_s; });
    return order;
}

std::int64_t whole_division_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Calls work(i) for all i < count on `jobs` threads. The first exception ends it and comes out here.
void run_parallel(int count, int jobs, const std::function<void(int)>& work) {
    std::atomic<int> next{0};
    std::exception_ptr failed;
    std::mutex mutex;
    const auto loop = [&] {
        for (int i; (i = next++) < count;) {
            try {
                work(i);
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!failed) failed = std::current_exception();
                next = count;
            }
        }
    };
    std::vector<std::jthread> threads;
    for (int j = 1; j < std::min(jobs, count); ++j) threads.emplace_back(loop);
    loop();
    threads.clear();  // joins
    if (failed) std::rethrow_exception(failed);
}

class Comparer {
  public:
    Comparer(const AppRunner& runner, const ComparisonPlan& plan,
             const std::function<void(const std::string&)>& progress)
        : runner_(runner), plan_(plan), progress_(progress) {}

    void run_all(std::vector<Configuration>& configurations, std::int64_t units, std::int64_t granularity) {
        for (Configuration& c : configurations) c.runs.resize(plan_.repetitions);
        total_ += static_cast<int>(configurations.size()) * plan_.repetitions;
        run_parallel(static_cast<int>(configurations.size()) * plan_.repetitions, plan_.jobs, [&](int i) {
            // Repetitions outermost: a disturbance of the machine hits all configurations.
            const int repetition = i / static_cast<int>(configurations.size());
            Configuration& c = configurations[i % configurations.size()];
            RunRequest request;
            request.policy = c.policy;
            request.equal_blocks = find_policy(c.policy) == nullptr;
            request.blocks = c.asked_blocks;
            request.repetition = repetition;
            if (c.asked_blocks && !request.equal_blocks)
                request.initial_block =
                    whole_division_up(whole_division_up(units, *c.asked_blocks), granularity) * granularity;
            announce(c);
            c.runs[repetition] = runner_.run(request);
        });
    }

  private:
    void announce(const Configuration& c) {
        const std::lock_guard lock(mutex_);
        progress_(fmt::format("run {} of {}{}: {}{}", ++started_, total_,
                              c.choice == Choice::sweep || !plan_.sweep ? "" : " and more", c.policy,
                              c.asked_blocks ? fmt::format(" with {} blocks", *c.asked_blocks) : ""));
    }

    const AppRunner& runner_;
    const ComparisonPlan& plan_;
    const std::function<void(const std::string&)>& progress_;
    std::mutex mutex_;
    int started_ = 0;
    int total_ = 0;
};

/// n / sum of the speeds: of each processor the best it had over a whole run.
double estimated_bound_s(const Comparison& comparison) {
    std::map<std::string, double> best;
    for (const Configuration& c : comparison.configurations)
        for (const RunResult& run : c.runs)
            for (const auto& processor : run.report.at("processors")) {
                const double busy_s = processor.at("compute_seconds");
                double& speed = best[processor.at("name")];
                if (busy_s > 0) speed = std::max(speed, processor.at("units").get<double>() / busy_s);
            }
    double sum = 0;
    for (const auto& [name, speed] : best) sum += speed;
    return sum > 0 ? static_cast<double>(comparison.units) / sum : std::nan("");
}

void find_bound(Comparison& comparison, const AppRunner& runner) {
    if (const auto& platform = runner.platform()) {
        comparison.lower_bound_s = simulated::lower_bound_seconds(*platform, comparison.app,
                                                                  simulated_size(comparison.size), comparison.units);
    } else {
        comparison.lower_bound_s = estimated_bound_s(comparison);
        comparison.bound_is_estimated = true;
    }
}

}  // namespace

simulated::KernelSize simulated_size(const nlohmann::json& size) {
    if (size.is_array() && size.size() == 3) return {size[0], size[1], size[2]};
    if (size.is_array() && size.size() == 2) return {size[0], size[1], size[1]};
    const double n = size.is_array() ? size.at(0).get<double>() : size.get<double>();
    return {n, n, n};
}

double Configuration::median_s() const {
    const auto order = by_makespan(runs);
    return (runs[order[(order.size() - 1) / 2]].makespan_s + runs[order[order.size() / 2]].makespan_s) / 2;
}
double Configuration::min_s() const { return runs[by_makespan(runs).front()].makespan_s; }
double Configuration::max_s() const { return runs[by_makespan(runs).back()].makespan_s; }
const RunResult& Configuration::median_run() const { return runs[by_makespan(runs)[(runs.size() - 1) / 2]]; }
std::int64_t Configuration::blocks() const { return median_run().report.at("blocks"); }
double Configuration::idle_percent() const { return median_run().report.at("idle_percent"); }

const Configuration& Comparison::default_of(const std::string& policy) const {
    return *std::ranges::find(configurations, policy, &Configuration::policy);
}

const Configuration& Comparison::best_of(const std::string& policy) const {
    const Configuration* best = &default_of(policy);
    for (const Configuration& c : configurations)
        if (c.policy == policy && c.median_s() < best->median_s()) best = &c;
    return *best;
}

std::vector<std::string> Comparison::policies() const {
    std::vector<std::string> names;
    for (const Configuration& c : configurations)
        if (std::ranges::find(names, c.policy) == names.end()) names.push_back(c.policy);
    return names;
}

void check_policy(const std::string& policy) {
    if (find_policy(policy) || policy.starts_with("modular-")) return;
    if (std::ranges::find(kStarpuSchedulers, policy) != std::end(kStarpuSchedulers)) return;
    std::string names;
    for (const PolicyEntry& entry : registered_policies()) names += fmt::format("{}, ", entry.name);
    for (const char* name : kStarpuSchedulers) names += fmt::format("{}, ", name);
    throw UserError(fmt::format("--policies: there is no policy {}; choose from {}modular-...", policy, names));
}

bool is_swept(const std::string& policy) {
    const PolicyEntry* entry = find_policy(policy);
    return !entry || entry->fixed_blocks;
}

std::vector<std::int64_t> automatic_blocks(const nlohmann::json& report) {
    constexpr std::int64_t kMostPerProcessor = 128;
    const std::int64_t units = report.at("units");
    const std::int64_t granularity = report.at("granularity");
    const auto processors = static_cast<std::int64_t>(report.at("processors").size());
    std::int64_t largest_block = units;
    for (const auto& processor : report.at("processors"))
        if (const auto room = processor.find("memory_units"); room != processor.end() && room->is_number())
            largest_block = std::min(largest_block, room->get<std::int64_t>());
    const std::int64_t fewest = largest_block > 0 ? whole_division_up(units, largest_block) : units;
    const std::int64_t most = std::min(kMostPerProcessor * processors, units / granularity);
    std::set<std::int64_t> result;
    if (fewest > 1 && fewest <= most) result.insert(fewest);
    for (std::int64_t blocks = 1; blocks <= most; blocks *= 2)
        if (4 * blocks >= processors && blocks >= fewest) result.insert(blocks);
    return {result.begin(), result.end()};
}

Comparison compare(const AppRunner& runner, const std::string& app, const ComparisonPlan& plan,
                   const std::function<void(const std::string&)>& progress) {
    Comparer comparer(runner, plan, progress);
    Comparison comparison;
    comparison.app = app;
    if (const auto& platform = runner.platform()) {
        comparison.platform = platform->name;
        for (const simulated::Device& device : platform->devices)
            if (const std::string text = describe_behaviour(device); !text.empty())
                comparison.platform_events.push_back(fmt::format("{}: {}", device.name, text));
    }

    std::vector<Configuration> defaults;
    for (const std::string& policy : plan.policies)
        defaults.push_back({policy, plan.sweep && is_swept(policy) ? Choice::default_size : Choice::only, {}, {}});
    comparer.run_all(defaults, 0, 1);
    const RunResult& first = defaults.front().runs.front();
    comparison.size = first.size;
    comparison.units = first.report.at("units");

    std::vector<Configuration> sweep;
    if (plan.sweep) {
        const auto tried = plan.blocks.empty() ? automatic_blocks(first.report) : plan.blocks;
        for (const std::string& policy : plan.policies)
            for (const std::int64_t blocks : tried)
                if (is_swept(policy)) sweep.push_back({policy, Choice::sweep, blocks, {}});
    }
    comparer.run_all(sweep, comparison.units, first.report.at("granularity"));

    for (Configuration& c : defaults) {
        const std::string policy = c.policy;
        comparison.configurations.push_back(std::move(c));
        for (Configuration& s : sweep)
            if (s.policy == policy) comparison.configurations.push_back(std::move(s));
    }
    find_bound(comparison, runner);
    return comparison;
}

}  // namespace apportion
