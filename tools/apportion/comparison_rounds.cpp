// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <random>
#include <set>

#include "codelets/io/progress.hpp"
#include "models/io/text.hpp"
#include "policies/policy.hpp"

namespace apportion {

namespace {

/// Calls work(i) for all i < count on `jobs` threads. After an exception nothing more begins, and one comes out here.
void run_parallel(int count, int jobs, const std::function<void(int)>& work) {
    std::atomic<int> next{0};
    const auto loop = [&] {
        try {
            for (int i; (i = next++) < count;) work(i);
        } catch (...) {
            next = count;
            throw;
        }
    };
    std::vector<std::future<void>> threads;
    for (int j = 0; j < std::min(jobs, count); ++j) threads.push_back(std::async(std::launch::async, loop));
    for (std::future<void>& thread : threads) thread.get();
}

/// Of each load in a run.
std::vector<std::int64_t> blocks_of_loads(const RunResult& run) {
    std::vector<std::int64_t> blocks;
    for (const RunReport& report : run.largest_reports) blocks.push_back(report.blocks);
    return blocks;
}

bool is_swept(const std::string& policy) {
    const PolicyEntry* entry = find_policy(policy);
    return !entry || entry->fixed_blocks;
}

/// Powers of two from a quarter of the number of processors to 128 times that number, of which every block is at least
/// a granule; and the smallest number for which they fit every processor's memory, as a report of the load tells.
/// `equal_blocks`: none below that, as any processor may get any of them. Otherwise each processor's are cut to its own
/// memory.
std::vector<std::int64_t> automatic_blocks(const RunReport& report, bool equal_blocks) {
    constexpr std::int64_t kMostPerProcessor = 128;
    const std::int64_t units = report.units;
    std::int64_t largest_block = units, processors = 0;
    for (const ReportedProcessor& processor : report.processors) {
        processors += processor.workers;  // StarPU's schedulers know no groups
        largest_block = std::min(largest_block, processor.memory_units.value_or(units));
    }
    const std::int64_t fewest = largest_block > 0 ? quotient_up(units, largest_block) : units;
    const std::int64_t most = std::min(kMostPerProcessor * processors, units / report.granularity);
    std::set<std::int64_t> result;
    if (fewest > 1 && fewest <= most) result.insert(fewest);
    for (std::int64_t blocks = 1; blocks <= most; blocks *= 2)
        if (4 * blocks >= processors && (blocks >= fewest || !equal_blocks)) result.insert(blocks);
    return {result.begin(), result.end()};
}

class ComparisonRounds {
  public:
    ComparisonRounds(const ProgramRunner& runner, Comparison& comparison)
        : runner_(runner), comparison_(comparison), random_(comparison.plan.seed) {}

    void run() {
        try {
            run_all();
        } catch (const Interrupted& interrupted) {
            comparison_.signal = interrupted.signal();
            comparison_.ending = Ending::signal;
            std::erase_if(comparison_.configurations, [](const Configuration& c) { return c.runs.empty(); });
            if (comparison_.configurations.empty()) throw;
        }
        comparison_.seconds = progress_.elapsed_s();
    }

  private:
    void run_all() {
        const ComparisonPlan& plan = comparison_.plan;
        run_first();
        comparison_.rounds = 1;
        while (true) {
            if (!plan.all_rounds) drop_slow();
            const std::vector<std::size_t> next = active();
            comparison_.ending = next.empty()                        ? Ending::settled
                                 : comparison_.rounds >= plan.rounds ? Ending::rounds
                                 : !time_for_another(next.size())    ? Ending::time
                                                                     : Ending::signal;
            if (comparison_.ending != Ending::signal) return;
            run_round(next);
            ++comparison_.rounds;
        }
    }

    void run_first() {
        const ComparisonPlan& plan = comparison_.plan;
        for (const std::string& policy : plan.policies)
            comparison_.configurations.push_back(
                {policy, plan.sweep && is_swept(policy) ? Choice::default_size : Choice::only});
        run_round(active());
        if (plan.sweep) add_sweep();
        std::vector<std::size_t> added;
        for (std::size_t c = 0; c < comparison_.configurations.size(); ++c)
            if (comparison_.configurations[c].runs.empty()) added.push_back(c);
        if (!added.empty()) run_round(added);
    }

    void add_sweep() {
        std::vector<Configuration> all;
        const RunReport& report = comparison_.configurations.front().runs.front().report;
        units_ = report.units;
        granularity_ = report.granularity;
        for (Configuration& c : comparison_.configurations) {
            Configuration& first = all.emplace_back(std::move(c));
            if (first.choice != Choice::default_size) continue;
            const std::string policy = first.policy;
            const bool equal_blocks = find_policy(policy) == nullptr;
            const std::vector<std::int64_t> tried =
                comparison_.plan.blocks.empty() ? automatic_blocks(report, equal_blocks) : comparison_.plan.blocks;
            const std::vector<std::int64_t> own = blocks_of_loads(first.runs.front());
            std::set<std::vector<std::int64_t>> known{own};
            std::vector<Configuration> sweep;
            for (const std::int64_t blocks : tried) {
                std::vector<std::int64_t> of_loads;
                for (const RunReport& load : first.runs.front().largest_reports)
                    of_loads.push_back(equal_blocks ? std::min(blocks, quotient_up(load.units, load.granularity))
                                                    : quotient_up(load.units, initial_block(blocks)));
                // What would run the same blocks is no other configuration.
                if (known.insert(of_loads).second)
                    sweep.push_back({policy, Choice::sweep, blocks});
                else if (of_loads == own)
                    first.asked_blocks = blocks;
            }
            std::ranges::move(sweep, std::back_inserter(all));
        }
        comparison_.configurations = std::move(all);
    }

    std::int64_t initial_block(std::int64_t blocks) const {
        return up_to_multiple(quotient_up(units_, blocks), granularity_);
    }

    void run_round(std::vector<std::size_t> configurations) {
        std::ranges::shuffle(configurations, random_);
        ++passes_;
        const ComparisonPlan& plan = comparison_.plan;
        progress_.expect(runs_done_ + configurations.size() *
                                          static_cast<std::size_t>(std::max(plan.rounds - comparison_.rounds, 1)));
        run_parallel(static_cast<int>(configurations.size()), plan.jobs,
                     [&](int i) { run_one(configurations[static_cast<std::size_t>(i)]); });
    }

    void run_one(std::size_t configuration) {
        Configuration& c = comparison_.configurations[configuration];
        RunRequest request;
        request.policy = c.policy;
        request.equal_blocks = find_policy(c.policy) == nullptr;
        request.round = comparison_.rounds;
        {
            const std::lock_guard lock(mutex_);
            if (c.choice == Choice::sweep) {
                request.blocks = c.asked_blocks;
                if (!request.equal_blocks) request.initial_block = initial_block(*c.asked_blocks);
            }
            progress_.begin(fmt::format("round {}: {}{}", request.round + 1, c.policy,
                                        request.blocks ? " with " + counted(*request.blocks, "block") : ""));
        }
        RunResult result = runner_.run(request);
        // What is tried with several numbers of blocks has its first round later than the others, on a machine that may
        // have changed meanwhile. A simulated one has not.
        result.pass = comparison_.platform.empty() ? passes_ : request.round;
        const std::lock_guard lock(mutex_);
        c.runs.push_back(std::move(result));
        ++runs_done_;
        progress_.done();
    }

    void drop_slow() {
        // All runs slower than all runs of another: of two that are alike one is dropped so in one of ten cases, and
        // then the other stands for both.
        constexpr std::size_t kRuns = 3;
        for (Configuration& c : comparison_.configurations) {
            if (c.dropped || c.runs.size() < kRuns) continue;
            c.dropped = std::ranges::any_of(comparison_.configurations, [&](const Configuration& other) {
                return other.policy == c.policy && !other.dropped && other.runs.size() >= kRuns &&
                       other.max_s() < c.min_s();
            });
        }
    }

    /// Configurations that the next round needs.
    std::vector<std::size_t> active() const {
        const auto& all = comparison_.configurations;
        std::set<std::string> needed;
        if (comparison_.rounds == 0 || comparison_.plan.all_rounds) {
            for (const Configuration& c : all) needed.insert(c.policy);
        } else {
            const std::vector<std::string> policies = comparison_.policies();
            const Order order = comparison_.order();
            // One alone has no order, but a median, whose interval needs six runs.
            constexpr int kRoundsOfOne = 6;
            if (policies.size() == 1 && comparison_.rounds < kRoundsOfOne && !comparison_.plan.exact)
                needed.insert(policies.front());
            for (std::size_t a = 0; a < policies.size(); ++a)
                for (std::size_t b = 0; b < a; ++b)
                    if (!order.settled(a, b)) needed.insert({policies[a], policies[b]});
        }
        std::vector<std::size_t> result;
        for (std::size_t c = 0; c < all.size(); ++c)
            if (!all[c].dropped && needed.contains(all[c].policy)) result.push_back(c);
        return result;
    }

    bool time_for_another(std::size_t runs) const {
        const double per_run_s = progress_.elapsed_s() / static_cast<double>(std::max<std::size_t>(runs_done_, 1));
        return progress_.elapsed_s() + per_run_s * static_cast<double>(runs) <= comparison_.plan.limit_s;
    }

    const ProgramRunner& runner_;
    Comparison& comparison_;
    ProgressLine progress_{"apportion compare"};
    std::mt19937_64 random_;
    std::mutex mutex_;
    std::size_t runs_done_ = 0;
    int passes_ = 0;
    std::int64_t units_ = 0, granularity_ = 1;  ///< of the program's loads
};

}  // namespace

void run_rounds(const ProgramRunner& runner, Comparison& comparison) { ComparisonRounds(runner, comparison).run(); }

}  // namespace apportion
