// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What Grants decides on nodes that are slow, late or lost.
#include "policies/engine/grants.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>

#include "test/catch.hpp"
#include "test/policies/engine/fake_nodes.hpp"

using namespace apportion;

namespace {

bool each_unit_once(const NodesRun& run) {
    return !run.computes_on && std::ranges::all_of(run.times, [](int times) { return times == 1; });
}

/// Grants of 20 units to two nodes under equal.
struct EqualNodes {
    EqualNodes() {
        load.units = 20;
        for (const char* name : {"node 0", "node 1"}) load.processors.push_back({name, 0, true});
        grants.emplace(load, home_first, nullptr);
    }
    LoadDescription load;
    std::unique_ptr<Policy> policy = find_policy("equal")->make();
    HomeFirst home_first{*policy, 0};
    std::optional<Grants> grants;
};

}  // namespace

TEST_CASE("each unit is computed on one node and its result fetched once, under every policy that needs no profile") {
    for (const PolicyEntry& entry : registered_policies()) {
        if (entry.reads_profile() || entry.identical_processors) continue;
        for (const Units units : {0, 1, 3, 1000, 100000}) {
            INFO(entry.name << ", " << units << " units");
            const NodesRun run = run_nodes({{1000}, {3000}, {500}, {8000}}, units, entry.name);
            CHECK(run.done);
            CHECK(each_unit_once(run));
            CHECK_FALSE(run.written_twice_at_once);
        }
    }
}

TEST_CASE("nodes get units in proportion to their speeds under plb-hec") {
    const NodesRun run = run_nodes({{1000}, {3000}, {500}, {8000}}, 100000);
    REQUIRE(run.done);
    CHECK(run.makespan_s < 1.1 * 100000 / 12500);
    CHECK(run.units[3] > 2 * run.units[1]);
}

TEST_CASE("a node that fails gets nothing more, and others compute what it had") {
    for (const int node : {0, 2}) {
        std::vector<FakeNode> nodes{{1000}, {3000}, {500}, {8000}};
        nodes[static_cast<std::size_t>(node)].fails_at_s = 2;
        const NodesRun run = run_nodes(nodes, 100000);
        REQUIRE(run.done);
        CHECK(each_unit_once(run));
        REQUIRE(run.lost.size() == 1);
        CHECK(run.lost.front().node == node);
    }
}

TEST_CASE("when no node is left the error names them and why") {
    std::vector<FakeNode> nodes{{1000}, {1000}};
    nodes[0].fails_at_s = 1;
    nodes[1].fails_at_s = 2;
    const NodesRun run = run_nodes(nodes, 100000);
    CHECK_FALSE(run.done);
    CHECK(run.error.find("no node is left") == 0);
    CHECK(run.error.find("node 0: it failed") != std::string::npos);
    CHECK(run.error.find("node 1: it failed") != std::string::npos);
}

TEST_CASE("late grants of another node are computed again by those that are done") {
    for (const char* policy : {"plb-hec", "greedy", "equal"}) {
        INFO(policy);
        std::vector<FakeNode> nodes{{1000}, {1000}, {1000}, {1000}};
        nodes[3].stalls_from_s = 5;
        const NodesRun run = run_nodes(nodes, 40000, policy, 50);
        REQUIRE(run.done);
        CHECK(each_unit_once(run));
        CHECK_FALSE(run.written_twice_at_once);
        CHECK(run.makespan_s < 40);  // a hundred times as long would be 500 s
    }
}

TEST_CASE("a node that becomes slow gives back what it has not begun, and others compute that once") {
    // Node 2 has 1000 of 3000 units and ten more; its units take 40 ms from 1 s on instead of 0.4 ms.
    for (const int slow : {0, 2}) {
        INFO("node " << slow);
        std::vector<FakeNode> nodes{{1000}, {1000}, {1000}};
        nodes[static_cast<std::size_t>(slow)].stalls_from_s = 0.5;
        const NodesRun run = run_nodes(nodes, 3000, "greedy", 50, 0);
        REQUIRE(run.done);
        CHECK(each_unit_once(run));
        CHECK(run.makespan_s < 3);
    }
}

TEST_CASE("a node gives back what it has not begun when the others surely end all of it before") {
    // As slow as it was, and never late: greedy gives it its second grant shortly before the others are done.
    const NodesRun run = run_nodes({{1000}, {1000}, {20}}, 4000, "greedy", 50);
    const NodesRun waiting = run_nodes({{1000}, {1000}, {20}}, 4000, "greedy", 0);
    REQUIRE(run.done);
    CHECK(each_unit_once(run));
    CHECK(run.lost.empty());
    INFO(run.makespan_s << " and " << waiting.makespan_s << " s");
    CHECK(run.makespan_s < 0.9 * waiting.makespan_s);
}

TEST_CASE("a healthy node is not lost for being slow, and nobody waits for it longer than without recovery") {
    for (const char* policy : {"equal", "gss", "tss", "fac2", "greedy", "plb-hec"})
        for (const double slow : {50, 200, 1000}) {
            INFO(policy << ", " << slow << " units a second");
            const std::vector<FakeNode> nodes{{8000}, {slow}, {4000}, {500}};
            const NodesRun run = run_nodes(nodes, 20000, policy, 50), waiting = run_nodes(nodes, 20000, policy);
            REQUIRE(run.done);
            CHECK(each_unit_once(run));
            CHECK(run.lost.empty());
            CHECK(run.makespan_s <= 1.01 * waiting.makespan_s);
        }
}

TEST_CASE("a late grant that ends first ends the load, whatever another node still computes of it") {
    // Node 1 is done after 1 s and begins with all units of node 2, which needs 1.25 s.
    FakeNode slower{800};
    slower.at_once = true;
    const NodesRun run = run_nodes({{1000 / 1.2}, {1000}, slower}, 3000, "equal", 50, 0);
    REQUIRE(run.done);
    CHECK(each_unit_once(run));
    CHECK(run.makespan_s < 1.3);
    CHECK_FALSE(run.all_answer);
}

TEST_CASE("a node whose input travels for long is late as one that computes for long, and others compute its units") {
    for (const char* policy : {"plb-hec", "greedy", "equal"}) {
        INFO(policy);
        std::vector<FakeNode> nodes{{1000}, {1000}, {1000}, {1000}};
        const double without_s = run_nodes(nodes, 4000, policy, 50).makespan_s;
        nodes[3].way_s = 20;
        const NodesRun run = run_nodes(nodes, 4000, policy, 50);
        REQUIRE(run.done);
        CHECK(each_unit_once(run));
        CHECK(run.makespan_s < 4 * without_s);  // waiting would take 40 s and more
    }
}

TEST_CASE("grants of node 0 that are late, or stall, are waited for: it computes in place") {
    for (const char* policy : {"greedy", "gss", "plb-hec"}) {
        INFO(policy);
        std::vector<FakeNode> nodes{{1000}, {1000}};
        nodes[0].stalls_from_s = 1;
        const NodesRun run = run_nodes(nodes, 20000, policy, 2);
        REQUIRE(run.done);
        CHECK(run.makespan_s > 15);  // longer than it takes to stall
        CHECK(each_unit_once(run));
        CHECK(run.lost.empty());
    }
}

TEST_CASE("whichever nodes are slow, stall or fail, nothing is written where node 0 computes, and each unit once") {
    std::mt19937 random(1);
    const auto between = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
    const auto once_in = [&](int times) { return std::uniform_int_distribution(1, times)(random) == 1; };
    std::vector<const char*> policies;
    for (const PolicyEntry& entry : registered_policies())
        if (!entry.reads_profile() && !entry.identical_processors) policies.push_back(entry.name);
    for (int load = 0; load < 1000; ++load) {
        const char* const policy = policies[static_cast<std::size_t>(load) % policies.size()];
        INFO("load " << load << ", " << policy);
        std::vector<FakeNode> nodes(static_cast<std::size_t>(between(1, 7)));
        for (FakeNode& node : nodes) {
            node.units_per_s = std::pow(10, between(1, 4));
            if (once_in(4)) node.stalls_from_s = between(0, 3);
            if (once_in(6)) node.fails_at_s = between(0, 3);
            if (once_in(4)) node.way_s = between(0, 1);
            node.at_once = once_in(3);
        }
        const auto units = static_cast<Units>(between(0, 3000));
        const NodesRun run = run_nodes(nodes, units, policy, between(1, 3), 1e-3);
        CHECK_FALSE(run.written_twice_at_once);
        if (run.done) CHECK(each_unit_once(run));
        for (std::size_t k = 0; k < nodes.size() && !run.done; ++k) {
            INFO(run.error);
            const std::string its = "node " + std::to_string(k) + ": ";
            const bool fails = run.error.find(its + "it failed") != std::string::npos && nodes[k].fails_at_s < 1e9;
            CHECK((fails || run.error.find(its + "others computed its units") != std::string::npos));
        }
    }
}

TEST_CASE("what node 0 computes in place for nothing is waited for as far as it is begun") {
    // Node 0 is done after 1 s, and begins with the units of node 1, which are computed there half a second later.
    for (const bool at_once : {false, true}) {
        std::vector<FakeNode> nodes{{1000}, {1000 / 1.5}};
        nodes[0].at_once = at_once;
        nodes[1].at_once = true;
        const NodesRun run = run_nodes(nodes, 2000, "equal", 50, 0);
        REQUIRE(run.done);
        CHECK(each_unit_once(run));
        CHECK_FALSE(run.written_twice_at_once);
        if (!at_once) CHECK(run.units == std::vector<Units>{1000, 1000});
        CHECK(run.makespan_s == Approx(at_once ? 2 : 1.5).epsilon(0.01));
    }
}

TEST_CASE("results that wait for node 0 to be done with the same units are fetched when it fails") {
    std::vector<FakeNode> nodes{{1000}, {1000 / 1.5}};  // as above
    for (FakeNode& node : nodes) node.at_once = true;
    nodes[0].fails_at_s = 1.8;
    const NodesRun run = run_nodes(nodes, 2000, "equal", 50, 0);
    REQUIRE(run.done);
    CHECK(each_unit_once(run));
    CHECK_FALSE(run.written_twice_at_once);
    REQUIRE(run.lost.size() == 1);
    CHECK(run.lost.front().node == 0);
}

TEST_CASE("what node 0 ends before a message could come back stays there, under every policy that needs no profile") {
    for (const PolicyEntry& entry : registered_policies()) {
        if (entry.reads_profile() || entry.identical_processors) continue;
        INFO(entry.name);
        const NodesRun run = run_nodes({{1000}, {3000}, {8000}}, 150, entry.name, 50, 0.1);
        REQUIRE(run.done);
        CHECK(run.units.front() == 150);
        CHECK(run.makespan_s <= 0.15 * (1 + 1e-9));
    }
}

TEST_CASE("no load takes longer because node 0 comes first than the messages of a grant") {
    constexpr double kMessage_s = 0.01;
    for (const char* policy : {"greedy", "equal", "gss", "tss", "fac2", "awf-c", "hdss", "acosta"})
        for (const Units units : {10, 100, 1000, 20000}) {
            INFO(policy << ", " << units << " units");
            const std::vector<FakeNode> nodes{{1000}, {3000}, {500}, {8000}};
            const NodesRun run = run_nodes(nodes, units, policy, 0, kMessage_s);
            const NodesRun without = run_nodes(nodes, units, policy, 0, kMessage_s, false);
            REQUIRE(run.done);
            CHECK(each_unit_once(run));
            CHECK(run.makespan_s <= without.makespan_s + 2 * kMessage_s + 1e-9);
        }
}

TEST_CASE("plb-hec takes at most three times as long because node 0 comes first") {
    // Node 0 learns, and gets larger blocks, before the others have answered. For which numbers of units that costs
    // more than the messages of a grant, rounding decides: several curves fit times without noise.
    const std::vector<FakeNode> nodes{{1000}, {3000}, {500}, {8000}};
    for (Units units = 10; units < 30000; units += 1 + units / 12) {
        INFO(units << " units");
        const NodesRun run = run_nodes(nodes, units, "plb-hec", 0, 0.01);
        const NodesRun without = run_nodes(nodes, units, "plb-hec", 0, 0.01, false);
        REQUIRE(run.done);
        CHECK(each_unit_once(run));
        CHECK(run.makespan_s <= 3 * without.makespan_s);
    }
}

TEST_CASE("a grant that ended with the one before it does not make a node look fast") {
    EqualNodes nodes;
    HomeFirst first(*nodes.policy, 1);
    LoadDescription load = nodes.load;
    first.begin(load);
    first.block_finished({.processor = 0, .units = 10, .start_s = 5, .end_s = 5, .busy_s = 5});
    BlockFlow flow(load, first, {}, nullptr);
    const auto blocks = flow.ask_all(0);
    CHECK(std::ranges::count(blocks, 1, &Block::processor) == 1);
}

/// Node 1 has two grants of ten units, whose input arrives after 1 s.
struct TwoGrants {
    std::unique_ptr<Policy> greedy = find_policy("greedy")->make();
    HomeFirst policy{*greedy, 0};
    Recovery recovery{50, 2};
    std::optional<Grants> grants;
    std::vector<std::int64_t> of_node_1;

    TwoGrants() {
        LoadDescription load;
        load.units = 40;
        load.initial_block = 10;
        for (const char* name : {"node 0", "node 1"}) load.processors.push_back({name, 0, true});
        grants.emplace(load, policy, &recovery);
        for (const GrantOrder& order : grants->begin(0))
            if (order.node == 1) of_node_1.push_back(order.grant);
        REQUIRE(of_node_1.size() == 2);
        for (const std::int64_t grant : of_node_1) grants->arrived(grant, 1);
    }
};

TEST_CASE("of two grants that end together, the second began before the first had ended") {
    TwoGrants its;
    for (const std::int64_t grant : its.of_node_1) its.grants->computed(grant, 3, 7);
    const auto& records = its.grants->records();
    CHECK(records[static_cast<std::size_t>(its.of_node_1[0])].start_s == 1);
    CHECK(records[static_cast<std::size_t>(its.of_node_1[1])].start_s == 4);
}

TEST_CASE("a grant whose arrival is heard late took as long as its node says, but no longer than since it was given") {
    for (const auto& [busy_s, begun_s] : {std::pair{3.0, 4.0}, {6.5, 0.5}, {20.0, 0.0}}) {
        INFO(busy_s << " s");
        EqualNodes nodes;
        nodes.grants->begin(0);
        nodes.grants->arrived(1, 6.9);
        nodes.grants->computed(1, busy_s, 7);
        CHECK(nodes.grants->records()[1].start_s == begun_s);
        CHECK(nodes.grants->records()[1].end_s == 7);
    }
}

TEST_CASE("a grant that ends after the next one took all of its time, not what lay between their ends") {
    TwoGrants its;
    its.grants->computed(its.of_node_1[1], 1, 6.9);
    its.grants->computed(its.of_node_1[0], 6, 7);
    CHECK(its.recovery.whole(1).at_most_s(10) == 6);
}

TEST_CASE("when nothing is computed any more, it is known which node's results are awaited") {
    EqualNodes nodes;
    Grants& grants = *nodes.grants;
    CHECK(grants.begin(0).size() == 2);
    grants.arrived(0, 0.1);
    CHECK(grants.awaited_node() == -1);  // node 0 computes
    grants.arrived(1, 0.1);
    const auto fetched = grants.computed(1, 1, 1);
    REQUIRE(fetched.size() == 1);
    CHECK(fetched.front().kind == GrantOrder::Kind::send_results);
    CHECK(grants.awaited_node() == -1);  // node 0 computes still
    CHECK(grants.computed(0, 1, 2).empty());
    CHECK(grants.awaited_node() == 1);
    CHECK_FALSE(grants.done());
    grants.home(1, 3);
    CHECK(grants.awaited_node() == -1);
    CHECK(grants.done());
}

TEST_CASE("a node that does not take in its input is awaited when the others are done") {
    EqualNodes nodes;
    Grants& grants = *nodes.grants;
    CHECK(grants.begin(0).size() == 2);
    grants.arrived(0, 0.1);
    CHECK(grants.awaited_node() == -1);
    CHECK(grants.computed(0, 1, 1).empty());
    CHECK(grants.awaited_node() == 1);
}
