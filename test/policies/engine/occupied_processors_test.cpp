// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Processors that still compute something for nobody, of this load or another one, as BlockFlow deals with them; under
// every policy: laws_test.cpp.
#include <algorithm>
#include <utility>
#include <vector>

#include "test/catch.hpp"
#include "test/policies/engine/late_blocks.hpp"

using namespace apportion;
using namespace apportion::test;

TEST_CASE(
    "who still computes something for nobody gets neither blocks nor pieces, and takes part as soon as it is free") {
    Situation s(3);
    s.flow->set_occupied(2, true);
    s.finish(s.blocks[1], 2);
    s.finish(s.blocks[2], 2);
    const auto pieces = s.flow->look(3);
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].processor == 1);
    CHECK(pieces[0].units == 10);
    s.flow->give_back(s.blocks[0].id);  // it failed: its units are free
    s.flow->fence(0);
    s.finish(pieces[0], 4);
    CHECK(s.flow->in_flight(1).size() == 1);
    s.flow->set_occupied(2, false);
    CHECK(s.flow->look(4).empty());  // the other one has the units
    CHECK(s.policy.lost == std::vector{0});
}

TEST_CASE("a policy plans without who computes something for nobody and may go on, but asked again it may take it") {
    LoadDescription load;
    load.processors.resize(3);
    load.units = 30;
    Fixed policy;
    BlockFlow flow(load, policy);
    for (int k = 0; k < 2; ++k) {
        flow.set_occupied(0, true);
        flow.do_without(0);
    }
    CHECK(policy.lost == std::vector{0});
    CHECK(flow.ask_all(0).size() == 2);
    flow.set_occupied(0, false);
    CHECK(flow.look(0.5).size() == 1);
    for (const int p : {1, 2, 0}) flow.do_without(p);
    CHECK(policy.lost == std::vector{0, 1, 2});  // 0 is back, and somebody has to be there
    flow.fence(1);
    CHECK(policy.lost == std::vector{0, 1, 2});  // it knows
    flow.fence(0);
    CHECK(policy.lost == std::vector{0, 1, 2, 0});
}

TEST_CASE("units that the policy keeps for who computes something for nobody are for others once these have nothing") {
    /// Equal halves.
    struct Halves final : Policy {
        void begin(const LoadDescription&) override {}
        Units next_block(int p, double, const Progress& progress) override {
            return lost[1 - p] ? progress.remaining() : std::exchange(left[p], 0);
        }
        void processor_lost(int p) override { lost[p] = true; }
        void processor_is_back(int p) override { lost[p] = false; }
        Units left[2] = {10, 10};
        bool lost[2] = {};
    };
    LoadDescription load;
    load.processors.resize(2);
    load.units = 20;
    for (const bool becomes_free : {false, true}) {
        Halves policy;
        BlockFlow flow(load, policy);
        flow.set_occupied(1, true);
        const auto first = flow.ask_all(0);
        REQUIRE(first.size() == 1);
        CHECK(first[0].processor == 0);
        CHECK_FALSE(flow.waits_for_occupied());
        if (becomes_free) {
            flow.set_occupied(1, false);
            CHECK(flow.look(0.5).size() == 1);
        }
        const auto rest = flow.finished(first[0].id, 0, 1, 1, 1);
        CHECK(rest.size() == (becomes_free ? 0 : 1));
        CHECK(policy.lost[1] != becomes_free);
        CHECK(flow.remaining() == 0);
    }
    {
        Halves policy;
        BlockFlow flow(load, policy);
        flow.set_occupied(1, true, true);
        const auto first = flow.ask_all(0);
        CHECK(flow.finished(first.at(0).id, 0, 1, 1, 1).empty());  // the other one is soon free
        CHECK(flow.waits_for_occupied());
        flow.set_occupied(1, false);
        CHECK(flow.look(1.5).size() == 1);
        CHECK_FALSE(policy.lost[1]);
    }
    Halves policy;
    BlockFlow flow(load, policy);
    for (const int p : {0, 1}) flow.set_occupied(p, true);
    CHECK(flow.ask_all(0).empty());
    CHECK(flow.waits_for_occupied());
    CHECK(flow.anybody_left());
    flow.set_occupied(1, false);
    CHECK(flow.look(1).size() == 1);
}

TEST_CASE("blocks that wait behind what a processor computes for nobody can be given to others, if there are some") {
    LoadDescription load;
    load.processors.resize(2);
    load.processors[0].own_memory = true;  // two blocks in flight
    load.units = 30;
    Fixed policy;
    BlockFlow flow(load, policy);
    std::vector<Block> blocks = flow.ask_all(0);
    REQUIRE(blocks.size() == 3);
    flow.set_occupied(0, true);
    REQUIRE(flow.do_without(0));
    CHECK(policy.lost == std::vector{0});
    for (const Block& block : blocks)
        if (block.processor == 0) flow.give_back(block.id);
    CHECK(flow.remaining() == 20);
    CHECK(flow.look(0).empty());  // the other one computes
    Block last = *std::ranges::find(blocks, 1, &Block::processor);
    for (int k = 0; k < 2; ++k) {
        blocks = flow.finished(last.id, k, k + 1, 1, k + 1);
        REQUIRE(blocks.size() == 1);
        last = blocks[0];
        CHECK(last.processor == 1);
    }
    CHECK(flow.finished(last.id, 2, 3, 1, 3).empty());
    CHECK(flow.done());
    CHECK_FALSE(flow.do_without(1));
}

TEST_CASE("in an open load whose block was taken over computes again as soon as that has ended") {
    Situation s(3, kFactor, 1, true);
    for (const Block& piece : s.pieces_of_first()) s.flow->finished(piece.id, 3, 3.5, 0.5, 3.5);
    const Decisions decisions = s.flow->take_decisions();
    CHECK(decisions.given_up == std::vector{s.blocks[0].id});
    CHECK(decisions.lost.empty());
    CHECK(s.policy.lost == std::vector{0});
    CHECK(s.flow->in_flight(0).empty());
    s.flow->set_occupied(0, true);  // its task runs on
    s.load.units = 90;
    CHECK(s.flow->add({60, 20}, 4).size() == 2);
    CHECK(s.flow->in_flight(0).empty());
    s.flow->set_occupied(0, false);
    CHECK(s.policy.back == std::vector{0});
    CHECK(s.flow->add({80, 10}, 5).size() == 1);
    CHECK(s.flow->in_flight(0).size() == 1);
}
