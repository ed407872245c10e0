// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/node_shares.hpp"

#include "test/catch.hpp"

using namespace apportion;

namespace {

LoadDescription load_of(Units units, std::size_t nodes, int runs) {
    LoadDescription load;
    load.units = units;
    load.runs_expected = runs;
    load.processors.resize(nodes);
    return load;
}

/// Runs of nodes with these units a second; the makespan of the last one.
double run(NodeShares& shares, const std::vector<double>& speeds, int runs) {
    double longest_s = 0;
    for (int k = 0; k < runs; ++k) {
        std::vector<double> seconds;
        for (std::size_t node = 0; node < speeds.size(); ++node)
            seconds.push_back(static_cast<double>(shares.ranges().shares()[node]) / speeds[node]);
        longest_s = *std::ranges::max_element(seconds);
        shares.run_ended(seconds);
    }
    return longest_s;
}

}  // namespace

TEST_CASE("shares are equal at first, in whole granules, and cover the load") {
    LoadDescription load = load_of(103, 4, 10);
    load.granularity = 10;
    const std::vector<Units> shares = NodeShares(load, {}, false).ranges().shares();
    Units sum = 0;
    for (std::size_t node = 0; node < shares.size(); ++node) {
        sum += shares[node];
        CHECK((shares[node] % 10 == 0 || shares[node] % 10 == 3));
    }
    CHECK(sum == 103);
    for (const Units units : {Units{1000000000}, (Units{1} << 50) - 1})
        CHECK(NodeShares(load_of(units, 3, 10), {}, false).ranges().units() == units);
    CHECK(NodeShares(load_of(2, 4, 10), {}, false).ranges().units() == 2);
}

TEST_CASE("shares follow what nodes take") {
    NodeShares shares(load_of(1000, 3, 20), {}, false);
    CHECK(run(shares, {1, 4, 5}, 20) < 1.05 * 1000 / 10);
    CHECK(shares.moves() <= 3);
}

TEST_CASE("a node that becomes slower gets less") {
    NodeShares shares(load_of(9000, 3, 60), {}, false);
    run(shares, {1, 1, 1}, 20);
    CHECK(shares.moves() == 0);
    CHECK(run(shares, {1, 1, 1.0 / 3}, 20) < 1.05 * 9000 / (2 + 1.0 / 3));
    CHECK(run(shares, {1, 1, 1.0 / 20}, 20) < 1.1 * 9000 / 2.05);
}

TEST_CASE("what does not pay is not moved") {
    NodeShares dear(load_of(1000, 2, 5), {}, false);
    dear.set_seconds_per_moved_unit(100);
    run(dear, {1, 3}, 5);
    CHECK(dear.moves() == 0);
    NodeShares fixed(load_of(1000, 2, 100), {}, true);
    run(fixed, {1, 3}, 100);
    CHECK(fixed.ranges().shares() == std::vector<Units>{500, 500});
    NodeShares last(load_of(1000, 2, 1), {}, false);
    run(last, {1, 3}, 1);
    CHECK(last.moves() == 0);
}

TEST_CASE("while nodes learn, only what promises to halve a run is moved, and that they learn again is counted") {
    // Node 0 takes 1.5 and 1.2 times as long in its first runs.
    const auto learning_run = [](NodeShares& shares, int run, const std::vector<double>& speeds) {
        const double factor = run == 0 ? 1.5 : run == 1 ? 1.2 : 1;
        std::vector<double> seconds;
        for (std::size_t node = 0; node < speeds.size(); ++node)
            seconds.push_back((node == 0 ? factor : 1) * static_cast<double>(shares.ranges().shares()[node]) /
                              speeds[node]);
        return shares.run_ended(seconds);
    };
    NodeShares alike(load_of(1000, 2, 10), {}, false);
    for (int k = 0; k < 10; ++k) CHECK_FALSE(learning_run(alike, k, {1, 1}));
    NodeShares little_gain(load_of(1000, 2, 7), {}, false);  // a tenth in four runs, learning costs 0.7 of one
    for (int k = 0; k < 7; ++k) CHECK_FALSE(learning_run(little_gain, k, {1, 1.25}));
    NodeShares unlike(load_of(1000, 4, 10), {}, false);
    CHECK(learning_run(unlike, 0, {1, 10, 10, 10}));
}

TEST_CASE("the first shares may be planned") {
    NodeShares shares(load_of(100, 2, 10), {30, 70}, false);
    CHECK(shares.ranges().shares() == std::vector<Units>{30, 70});
    run(shares, {3, 7}, 10);
    CHECK(shares.moves() == 0);
}
