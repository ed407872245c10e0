// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A machine for tests: workers are time functions, links are bandwidths, the clock is virtual. Drives a BlockFlow as
// the load engine does: a block is given, its data travel (while the worker may still compute the block before), its
// kernel runs, finished() brings the next blocks, its results travel home, block_returned() is told. Late blocks of
// workers with a link are taken over by the engine's own rule.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "policies/policy.hpp"

namespace apportion::test {

struct FakeWorker {
    std::string name;
    int kind = 0;
    std::function<double(double units)> seconds;  ///< kernel time of a block
    int link = -1;                                ///< -1: computes in main memory
    double latency_s = 0;                         ///< of its transfers
    Units memory_units = kNoLimit;                ///< what policies may use
    Units physical_units = kNoLimit;              ///< what really fits: data stay until they are home

    double noise = 0;  ///< standard deviation of the logarithm of a factor on each block's time
    std::vector<std::pair<int, double>> spikes{};  ///< (number of the block on this worker, factor)
    double drift_at_s = -1, drift_factor = 1;      ///< blocks that start later take that much longer
    double lost_at_s = -1;                         ///< fails: its blocks come back
    double silent_at_s = -1;                       ///< dies: no kernel ends from then on, and nobody says so
    std::function<double(double start_s, double seconds)> takes{};  ///< what takes so long otherwise, from then on
    double free_at_s = 0;      ///< until then it computes something for nobody, ...
    double occupied_at_s = 0;  ///< ... from then on: what it has not begun waits
};

/// Full duplex; transfers of one direction share the bandwidth equally.
struct FakeLink {
    double bytes_per_s = 0;
};

struct FakePlatform {
    std::vector<FakeWorker> workers;
    std::vector<FakeLink> links;
    double bytes_in_per_unit = 0;
    double bytes_out_per_unit = 0;
    /// What the units from the first on cost together, in units that take a worker's `seconds`; empty: 1 each.
    std::function<double(Units first, Units units)> work{};
    unsigned seed = 1;
    bool links_known = false;  ///< LoadDescription::links is filled in
    double stall_factor = 0;   ///< APPORTION_STALL_FACTOR; 0: every block is waited for

    /// The load as policies see it; initial_block 0: the engine's default, units / (64 workers). Its recorded profile
    /// is the workers' true times, at all sizes of a small load and at a selection for a large one.
    LoadDescription load(Units units, Units granularity = 1, Units initial_block = 0) const;

    /// Replaces the recorded profile by the workers' true times at these sizes (ascending) that fit their memories.
    void record(LoadDescription& load, const std::vector<Units>& sizes) const;

    /// n / sum of the best speeds over block sizes that fit: no schedule is faster.
    double lower_bound_s(Units units) const;
};

struct FakeBlock {
    std::int64_t id = 0;
    int processor = 0;
    Units first = 0;
    Units units = 0;
    double given_s = 0, start_s = 0, end_s = 0, returned_s = 0;
    bool again = false;     ///< a piece of a late block
    bool yields = false;    ///< others may compute it
    bool waiting = false;   ///< computed, and not decided on
    bool dropped = false;   ///< a piece that does not count
    bool given_up = false;  ///< the flow knows it no more
};

struct FakeRun {
    double makespan_s = 0;          ///< last result home
    std::vector<FakeBlock> blocks;  ///< computed ones that count, in the order in which they came home
    int given_up = 0;               ///< blocks that others compute
    int trials = 0;                 ///< blocks that the policy called so
    int pieces = 0, dropped = 0;    ///< of late blocks, computed again; of these, for nothing
    bool stuck = false;             ///< a block was given up that nobody else may compute
    int asked = 0;                  ///< calls of next_block
    int stalls = 0;
    bool done = false;

    Units units_of(int processor) const;
    double end_of(int processor) const;
};

/// `previous`: the run before of a load that is submitted again.
FakeRun run(const FakePlatform& platform, Policy& policy, const LoadDescription& load,
            const FakeRun* previous = nullptr);

/// Units that another processor computed in the one run than in the other.
Units moved_units(const FakeRun& before, const FakeRun& after);

/// Workers without links: processor g needs fixed_s + units / speeds[g].
FakePlatform plain_platform(const std::vector<double>& speeds, double fixed_s = 0);

/// Names of the registered ones.
std::vector<const char*> policies_that_need_a_profile();

/// PLB-HeC's machines A, AB, ABC or ABCD with SGEMM of order n, one unit a column (test/fake_machines.cpp has the
/// numbers and where they come from).
FakePlatform plb_hec_machines(const std::string& machines, Units order);

}  // namespace apportion::test
