// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rule of recovery.hpp as BlockFlow carries it out, step by step: blocks that stall, or that nobody else may
// compute; the laws for every policy are in laws_test.cpp.
#include <algorithm>
#include <cmath>

#include "test/catch.hpp"
#include "test/policies/engine/late_blocks.hpp"

using namespace apportion;
using namespace apportion::test;

using Ids = std::vector<std::int64_t>;

TEST_CASE("who was to compute a piece that is dropped before it is begun is free when that is told") {
    Situation s(3, kFactor, 1, true);
    const auto pieces = s.pieces_of_first();
    CHECK(s.finish(s.blocks[0], 3.5).empty());
    CHECK(s.flow->take_decisions().dropped == Ids{pieces[0].id, pieces[1].id});
    CHECK(s.flow->add({s.load.units, 10}, 3.5).size() == 1);  // for the processor of the late block
    CHECK(s.flow->give_back(pieces[1].id));
    CHECK_FALSE(s.flow->give_back(pieces[1].id));
    const auto more = s.flow->add({s.load.units + 10, 20}, 3.6);
    REQUIRE(more.size() == 1);
    CHECK(more[0].processor == pieces[1].processor);
}

TEST_CASE("a block that must not be taken over is waited for, until it stalls and all others wait") {
    Situation s(2, 2);
    LoadDescription load = s.load;
    Fixed policy;
    BlockFlow flow(load, policy, {}, s.recovery.get());
    auto blocks = flow.ask_all(0);
    flow.begins(blocks[0].id, 0);
    auto last = flow.finished(blocks[1].id, 0, 1, 1, 1);
    while (!last.empty()) last = flow.finished(last[0].id, 1, 2, 1, 2);
    CHECK(flow.next_look_s(2) == 3);  // 2 x 1.5 s
    CHECK(flow.look(2.9).empty());
    CHECK(flow.take_decisions().given_up.empty());
    flow.look(3);
    const Decisions decisions = flow.take_decisions();
    CHECK(decisions.given_up == Ids{blocks[0].id});
    CHECK(decisions.lost == std::vector{0});
}

TEST_CASE("after an error nobody computes anything again, and who stalls is given up although others still compute") {
    Situation s(3);
    s.finish(s.blocks[1], 2);
    CHECK(s.flow->look(3, true).empty());
    CHECK(s.flow->take_decisions().given_up.empty());
    const double stalls_s = s.flow->next_look_s(3);
    CHECK(stalls_s > 3);
    CHECK(s.flow->look(stalls_s, true).empty());
    CHECK(s.flow->take_decisions().given_up == Ids{s.blocks[0].id, s.blocks[2].id});
}

TEST_CASE("when all stall, it is the machine, and nobody is lost") {
    Situation s(3, 1);
    CHECK(s.flow->look(1000).empty());
    CHECK(s.flow->take_decisions().given_up.empty());
}

TEST_CASE("a processor that stalls while others wait for it at a barrier is lost, and all its units come back") {
    LoadDescription load;
    load.processors.resize(2);
    load.processors[0].own_memory = true;
    load.units = 100;
    Fixed policy;
    Recovery recovery(1, load.processors.size());
    BlockFlow flow(load, policy, {}, &recovery);
    auto blocks = flow.ask_all(0);
    REQUIRE(blocks.size() == 3);  // two on the device
    for (const Block& block : blocks) flow.may_be_taken_over(block.id);
    flow.begins(blocks[0].id, 0);
    policy.units = 0;
    const Block& on_core = blocks[1].processor == 1 ? blocks[1] : blocks[2];
    flow.begins(on_core.id, 0);
    CHECK(flow.finished(on_core.id, 0, 1, 1, 1).empty());
    CHECK(flow.remaining() == 70);
    CHECK(flow.look(1.4).empty());
    policy.units = 10;
    const auto next = flow.look(2);
    REQUIRE(next.size() == 1);
    CHECK(next[0].processor == 1);
    CHECK(flow.remaining() == 80);
    CHECK(flow.take_decisions().given_up.size() == 2);
    CHECK(policy.lost == std::vector{0});
}

TEST_CASE("without recovery every block is waited for") {
    Situation s(2, 0);
    s.finish(s.blocks[1], 2);
    CHECK(std::isinf(s.flow->next_look_s(2)));
    CHECK(s.flow->look(1e9).empty());
}

TEST_CASE("units that the policy keeps for who is late are asked for by who has nothing to do, and by nobody else") {
    LoadDescription load;
    load.processors.resize(3);
    for (Processor& processor : load.processors) processor.own_memory = true;  // two blocks in flight
    load.units = 100;
    Recovery recovery(kFactor, load.processors.size());
    Fixed policy;
    BlockFlow flow(load, policy, {}, &recovery);
    const std::vector<Block> blocks = flow.ask_all(0);
    REQUIRE(blocks.size() == 6);
    for (const Block& block : blocks) flow.begins(block.id, 0);
    policy.units = 0;
    for (const Block& block : blocks)
        if (block.processor == 2 || (block.processor == 1 && block.first > 10))
            CHECK(flow.finished(block.id, 0, 1, 1, 1).empty());
    policy.units = 10;
    const std::vector<Block> next = flow.look(10);
    REQUIRE(next.size() == 1);
    CHECK(next[0].processor == 2);
}

TEST_CASE("a late block is no reason to lose a processor with another block that nobody else may compute") {
    LoadDescription load;
    load.processors.resize(2);
    load.processors[0].own_memory = true;  // two blocks in flight
    load.units = 40;
    Recovery recovery(kFactor, load.processors.size());
    recovery.finished(0, 10, 1, 1);
    Fixed policy;
    BlockFlow flow(load, policy, {}, &recovery);
    const std::vector<Block> blocks = flow.ask_all(0);
    REQUIRE(blocks.size() == 3);
    flow.begins(blocks[0].id, 0);
    flow.may_be_taken_over(blocks[0].id);
    Block last = blocks[1];
    for (double end_s = 1; last.processor == 1; ++end_s) {
        const std::vector<Block> next = flow.finished(last.id, end_s - 1, end_s, 1, end_s);
        if (next.empty()) break;
        last = next[0];
    }
    REQUIRE(flow.remaining() == 0);
    CHECK(flow.look(10).empty());
    const Block second = blocks[2];
    REQUIRE(second.processor == 0);
    flow.may_be_taken_over(second.id);
    CHECK_FALSE(flow.look(11).empty());
}

TEST_CASE("whoever has a late block that others compute again gets no further block") {
    Situation s(3);
    s.finish(s.blocks[1], 2);
    REQUIRE(s.flow->look(3).size() == 1);
    s.flow->give_back(s.blocks[2].id);  // it failed: its units are free
    CHECK(s.flow->ask_all(3.1).empty() == false);
    CHECK(s.flow->in_flight(0).size() == 1);
}

TEST_CASE("nobody computes from when on the last running block stalls, however many wait for something") {
    LoadDescription load;
    load.processors.resize(3);
    load.units = 30;
    Recovery recovery(1, load.processors.size());
    for (int p = 0; p < 3; ++p) recovery.finished(p, 10, 1, 1);
    Fixed policy;
    BlockFlow flow(load, policy, {}, &recovery);
    const std::vector<Block> blocks = flow.ask_all(0);
    REQUIRE(blocks.size() == 3);
    CHECK(flow.silent_at_s() < 0);  // none has begun
    flow.begins(blocks[0].id, 1);
    CHECK(flow.silent_at_s() == 2.5);  // 1.5 s, while the other two wait for data
    flow.begins(blocks[1].id, 2);
    CHECK(flow.silent_at_s() == 3.5);
    flow.begins(blocks[0].id, 11);
    flow.begins(blocks[1].id, 12);
    CHECK(flow.silent_at_s() == 13.5);
    flow.finished(blocks[1].id, 12, 13, 1, 13);
    CHECK(flow.silent_at_s() == 12.5);
}

TEST_CASE("blocks computed apart are of cores, where somebody else could compute them again") {
    LoadDescription load;
    load.units = 6;  // few: one such block at a time
    Fixed policy;
    policy.units = 1;
    for (const int cores : {0, 1, 2}) {
        load.processors.assign(1 + static_cast<std::size_t>(cores), {});
        load.processors[0].own_memory = cores > 0;
        load.processors[0].kind = 1;
        Recovery recovery(kFactor, load.processors.size());
        BlockFlow flow(load, policy, {}, &recovery);
        int apart = 0;
        for (const Block& block : flow.ask_all(0)) {
            CHECK((block.processor > 0 || !block.apart));
            apart += block.apart;
        }
        CHECK(apart == std::min(cores, 1));
    }
}

TEST_CASE("until a processor ends its first block of a run it is judged by what is known of each size") {
    Recovery recovery(kFactor, 1);
    recovery.finished(0, 1000, 1, 1);
    for (int k = 0; k < 5; ++k) recovery.finished(0, 1, 0.5, 0.5);  // its last blocks were small
    CHECK(recovery.should_run_s(0, 1000) == 500);
    recovery.begin_run();
    CHECK(recovery.should_run_s(0, 1000) == 1);
    recovery.finished(0, 1000, 4, 4);  // it is slower in this run
    CHECK(recovery.should_run_s(0, 1000) == 4);
}

TEST_CASE("a block that nobody has memory to compute again is left alone") {
    Situation s(2);
    s.finish(s.blocks[1], 2);
    const auto pieces = s.flow->look(3);
    REQUIRE(pieces.size() == 1);
    s.flow->leave_alone(pieces[0].again_of);
    CHECK(s.flow->give_back(pieces[0].id));
    CHECK(s.flow->look(4).empty());
    CHECK(s.flow->finished(s.blocks[0].id, 1, 5, 4, 5).empty());
    CHECK(s.flow->done());
}
