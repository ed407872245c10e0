// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rule of recovery.hpp as BlockFlow carries it out, step by step: late blocks; the laws for every policy are in
// laws_test.cpp, how it ends in late_blocks_end_test.cpp.
#include <cmath>
#include <map>

#include "test/catch.hpp"
#include "test/policies/engine/late_blocks.hpp"

using namespace apportion;
using namespace apportion::test;

using Ids = std::vector<std::int64_t>;

TEST_CASE("a block should take what its processor's blocks tell at most, and stalls by what all who are known need") {
    Recovery recovery(kFactor, 4);
    CHECK(recovery.should_run_s(0, 10) == 0);
    CHECK(std::isinf(recovery.stalled_after_s(0, 10)));
    recovery.finished(0, 10, 2, 3);
    CHECK(recovery.should_run_s(0, 20) == 4);
    CHECK(recovery.should_run_s(0, 5) == 2);
    CHECK_FALSE(recovery.known(2));
    CHECK(recovery.late_after_s(2, 20) == 0);  // nothing is expected of it
    CHECK(recovery.stalled_after_s(2, 20) == Approx(6 * kFactor));
    recovery.finished(3, 10, 1, 1);
    CHECK(recovery.stalled_after_s(2, 20) == Approx(2 * kFactor));
    CHECK(recovery.late_after_s(0, 20) == 8);
    CHECK(recovery.stalled_after_s(0, 20) == 4 * kFactor);
    CHECK(recovery.stalled_after_s(0, 1) == 2 * kFactor);
    CHECK(recovery.stalled_after_s(2, 1) == 1.5 * kFactor);  // never for a shorter time
    CHECK(recovery.whole(0).at_most_s(10) == 3);
    recovery.finished(3, 10, 5, 5);  // five times as long: units may be so much dearer, for others as well
    CHECK(recovery.stalled_after_s(0, 20) == 5 * 4 * kFactor);
}

TEST_CASE("a block without work tells nothing of those that have some") {
    Recovery recovery(50, 2);
    recovery.finished(0, 100, 0, 0);
    CHECK_FALSE(recovery.known(0));
    CHECK_FALSE(recovery.measured(0));
    recovery.finished(0, 100, 2, 2);
    recovery.finished(0, 100, 0, 0);
    CHECK(recovery.should_run_s(0, 100) == 2);
    CHECK(recovery.whole(0).within(1) == 0);
}

TEST_CASE("nobody computes again before a block has run twice as long as it should") {
    Situation s(2);
    CHECK(std::isinf(s.flow->next_look_s(1.5)));  // nobody is idle
    CHECK(s.finish(s.blocks[1], 2).empty());
    CHECK(s.flow->next_look_s(2) == 3);
    CHECK(s.flow->look(2.99).empty());
    const auto pieces = s.flow->look(3);
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].again_of == s.blocks[0].id);
    CHECK(pieces[0].processor == 1);
    CHECK(pieces[0].first == s.blocks[0].first);
    CHECK(pieces[0].units == 10);  // 1 s, and it is late by 1 s
}

TEST_CASE("nobody computes a block again that is not overdue, however fast the others are") {
    Situation s(2);
    s.flow->set_occupied(0, false);
    CHECK(s.flow->finished(s.blocks[1].id, 1, 1.001, 0.001, 1.001).empty());
    CHECK(s.flow->look(1.99).empty());
}

TEST_CASE("others compute all of a block again once they need no longer than it exceeds what blocks before it took") {
    for (const double before_s : {1.0, 1.5}) {
        CAPTURE(before_s);
        Situation s(2);
        s.flow->set_occupied(0, false);
        s.recovery->finished(0, 10, before_s, before_s);  // noise
        s.finish(s.blocks[1], 2);
        s.recovery->finished(1, 10, 0.25, 0.25);
        const double at_s = 1 + before_s + 0.25;
        CHECK(s.flow->next_look_s(2) == at_s);
        CHECK(s.flow->look(at_s - 0.01).empty());
        const auto pieces = s.flow->look(at_s);
        REQUIRE(pieces.size() == 1);
        CHECK(pieces[0].units == 10);
        s.flow->finished(pieces[0].id, at_s, at_s + 0.2, 0.2, at_s + 0.2);
        CHECK(s.flow->done());
        CHECK(s.flow->take_decisions().lost.empty());  // it has not run twice as long as it should
    }
}

TEST_CASE("nobody computes a part of a block again before that has run twice as long as it should") {
    Situation s(2);
    s.flow->set_occupied(0, false);
    s.finish(s.blocks[1], 2);
    s.recovery->finished(1, 10, 1, 4);  // with its transfer
    s.recovery->finished(1, 1, 0.1, 0.4);
    CHECK(s.flow->look(2.99).empty());
    const auto pieces = s.flow->look(3);
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].units == 2);
}

TEST_CASE("two who need no longer together than a block is overdue share it, and it counts if it ends first") {
    Situation s(3);
    s.flow->set_occupied(0, false);
    for (const int p : {1, 2}) {
        s.finish(s.blocks[static_cast<std::size_t>(p)], 2);
        s.recovery->finished(p, 5, 0.1, 0.1);
    }
    CHECK(s.flow->look(2.09).empty());
    CHECK(s.flow->look(2.11).size() == 2);
    s.flow->finished(s.blocks[0].id, 1, 2.12, 1.12, 2.12);
    CHECK(s.flow->done());
    CHECK(s.flow->take_decisions().dropped.size() == 2);
    CHECK(s.policy.lost.empty());
}

TEST_CASE("time counts from when a block's task begins, not from when it was handed out") {
    Situation s(2);
    const Block other = s.blocks[1];
    Situation waiting(2);
    // A block that has not begun is never late, however long others have nothing to do.
    LoadDescription load = waiting.load;
    Fixed policy;
    BlockFlow flow(load, policy, {}, waiting.recovery.get());
    auto blocks = flow.ask_all(0);
    for (const Block& block : blocks) flow.may_be_taken_over(block.id);
    auto last = flow.finished(blocks[1].id, 0, 1, 1, 1);
    while (!last.empty()) last = flow.finished(last[0].id, 1, 2, 1, 2);
    CHECK(flow.remaining() == 0);
    CHECK(std::isinf(flow.next_look_s(1000)));
    CHECK(flow.look(1000).empty());
    flow.begins(blocks[0].id, 1000);
    CHECK(flow.look(1001.5).empty());
    CHECK_FALSE(flow.look(1002).empty());
    CHECK(other.units == 10);
}

TEST_CASE("a device's block is late also where it runs before one that was given earlier") {
    LoadDescription load;
    load.processors.resize(2);
    load.processors[0].own_memory = true;
    load.units = 50;
    Fixed policy;
    Recovery recovery(kFactor, 2);
    BlockFlow flow(load, policy, {}, &recovery);
    auto blocks = flow.ask_all(0);
    REQUIRE(blocks.size() == 3);  // two are the device's
    for (const Block& block : blocks) flow.may_be_taken_over(block.id);
    const auto third = flow.finished(blocks[0].id, 0, 1, 1, 1);
    REQUIRE(third.size() == 1);
    flow.may_be_taken_over(third[0].id);
    flow.begins(third[0].id, 1);
    flow.begins(blocks[2].id, -1);
    CHECK(flow.in_flight(0).front().id == third[0].id);
    const auto last = flow.finished(blocks[1].id, 0, 1, 1, 1);
    REQUIRE(last.size() == 1);
    CHECK(flow.finished(last[0].id, 1, 2, 1, 2).empty());
    const auto pieces = flow.look(3);
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].again_of == third[0].id);
}

TEST_CASE("when the program stood still, nobody is late for that") {
    Situation s(2);
    s.finish(s.blocks[1], 2);
    s.flow->begins(s.blocks[0].id, 101);  // as if it had begun so much later
    CHECK(s.flow->look(102.9).empty());
    CHECK_FALSE(s.flow->look(103).empty());
}

TEST_CASE("pieces take no longer than the block is overdue, are shared by all who idle, and grow while it stays away") {
    Situation s(3);
    const auto pieces = s.pieces_of_first();
    CHECK(pieces[0].units == 5);
    CHECK(pieces[1].units == 5);
    CHECK(pieces[0].first + pieces[0].units == pieces[1].first);
}

TEST_CASE("a slow processor takes no piece that would take it longer than the block is overdue") {
    for (const double unit_s : {0.09, 0.11}) {
        CAPTURE(unit_s);
        Situation s(2);
        s.recovery->finished(0, 10, 2, 2);  // the last block of its size, and the tightest bound is the one before
        s.finish(s.blocks[1], 2);
        for (int k = 0; k < 4; ++k) s.recovery->finished(1, 10, 10 * unit_s, 10 * unit_s);
        s.recovery->finished(1, 1, unit_s, unit_s);
        const auto pieces = s.flow->look(3);  // overdue by 1 s
        REQUIRE(pieces.size() == 1);
        CHECK(pieces[0].units == (unit_s < 0.1 ? 10 : 9));
    }
}

TEST_CASE(
    "nobody takes a piece for which it needs longer than the whole block should have taken: its units may be dear") {
    Situation s(2);
    s.finish(s.blocks[1], 2);
    s.recovery->finished(1, 10, 12, 12);
    s.recovery->finished(1, 1, 0.4, 0.4);
    const auto pieces = s.flow->look(30);
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].units == 2);  // in 0.8 s; the block, of ten, should have taken 1 s, and is overdue by 28 s
}

TEST_CASE("a processor that needs longer for a granule than the whole block should have taken computes one again") {
    Situation s(2);
    s.finish(s.blocks[1], 2);
    s.recovery->finished(1, 10, 12, 12);
    s.recovery->finished(1, 1, 1.2, 1.2);
    const auto pieces = s.flow->look(30);
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].units == 1);
}

TEST_CASE("where blocks took many times longer than they should, such a granule waits for as many times as long") {
    Situation s(2);
    s.finish(s.blocks[1], 2);
    s.recovery->finished(1, 10, 12, 12);  // twelve times as long as the one before
    s.recovery->finished(1, 1, 1.2, 1.2);
    CHECK(s.flow->look(16.3).empty());  // overdue by 14.3 s
    CHECK(s.flow->look(16.5).size() == 1);
}

TEST_CASE("no piece is longer than the block is overdue, however much is spare") {
    Situation s(3);
    s.finish(s.blocks[1], 2);
    s.finish(s.blocks[2], 2);
    s.recovery->finished(1, 10, 10, 10);
    s.recovery->finished(1, 1, 1, 1);  // 1 unit a second
    s.recovery->finished(2, 10, 2, 2);
    s.recovery->finished(2, 1, 0.2, 0.2);  // 5 units a second
    const auto pieces = s.flow->look(3);   // overdue by 1 s
    REQUIRE(pieces.size() == 2);
    for (const Block& piece : pieces) CHECK(piece.units == (piece.processor == 1 ? 1 : 5));
}

TEST_CASE("the first block of a processor is computed again by others that need no longer than it has run") {
    LoadDescription load;
    load.processors.resize(3);
    load.units = 50;
    Fixed policy;
    Recovery recovery(kFactor, 3);
    BlockFlow flow(load, policy, {}, &recovery);
    const auto blocks = begin_first_blocks(flow);
    const auto second = flow.finished(blocks[1].id, 0, 1, 1, 1), third = flow.finished(blocks[2].id, 0, 1, 1, 1);
    REQUIRE(flow.remaining() == 0);
    REQUIRE(second.size() == 1);
    CHECK(std::isinf(flow.next_look_s(1.5)));
    flow.begins(second[0].id, 1);
    flow.begins(third[0].id, 1);
    // 10 units take 1 s; the third has not ended, and is faster with five of them than the second with all.
    const auto one = flow.finished(second[0].id, 1, 2, 1, 2), other = flow.finished(third[0].id, 1, 2, 1, 2);
    for (const auto& pieces : {one, other}) {
        REQUIRE(pieces.size() == 1);
        CHECK(pieces[0].again_of == blocks[0].id);
        CHECK(pieces[0].units == 5);
    }
    flow.finished(one[0].id, 2, 2.5, 0.5, 2.5);
    flow.finished(other[0].id, 2, 2.5, 0.5, 2.5);
    const Decisions decisions = flow.take_decisions();
    CHECK(decisions.given_up == Ids{blocks[0].id});
    CHECK(decisions.lost.empty());  // it may always have been so slow
    CHECK(policy.lost == std::vector{0});
}

TEST_CASE("who has computed nothing computes nothing again, also where nothing is left to be computed again") {
    LoadDescription load;
    load.processors.resize(3);
    load.units = 20;
    Fixed policy;
    Recovery recovery(kFactor, 3);
    recovery.finished(0, 10, 1, 1);
    BlockFlow flow(load, policy, {}, &recovery);
    const auto blocks = begin_first_blocks(flow);
    REQUIRE(blocks.size() == 2);
    CHECK(flow.finished(blocks[1].id, 0, 1, 1, 1).empty());
    const auto pieces = flow.look(2);
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].processor == 1);
    CHECK(pieces[0].units == 10);
    CHECK(flow.look(3).empty());
}

TEST_CASE("the first block of a processor is judged by what was recorded of it") {
    LoadDescription load;
    load.processors.resize(2);
    load.units = 20;
    Fixed policy;
    Recovery recovery(kFactor, 2);
    recovery.recorded({{"slow", {{10, 7}}}, {"fast", {{10, 1}}}});
    CHECK(recovery.known(0));
    CHECK_FALSE(recovery.measured(0));
    BlockFlow flow(load, policy, {}, &recovery);
    const auto blocks = begin_first_blocks(flow);
    REQUIRE(blocks.size() == 2);
    CHECK(flow.finished(blocks[1].id, 0, 1, 1, 1).empty());
    CHECK(flow.next_look_s(1) == 14);
    CHECK(flow.look(13.9).empty());
    CHECK(flow.look(14).size() == 1);
    recovery.finished(0, 10, 3, 3);
    CHECK(recovery.should_run_s(0, 10) == 3);
    recovery.recorded({{"slow", {{10, 7}}}, {}});
    CHECK(recovery.should_run_s(0, 10) == 3);
}

TEST_CASE("what was recorded makes nobody stall") {
    Recovery recovery(kFactor, 2);
    recovery.recorded({{"a", {{10, 1}}}, {"b", {{10, 1}}}});
    CHECK(std::isinf(recovery.stalled_after_s(0, 10)));
}

TEST_CASE("a piece goes to who is done with it first, even if that has to end something else before") {
    for (const double slow_s : {0.8, 1.5}) {
        Situation s(4);  // 0 and 1 stay away, 2 is fast, 3 is slow
        s.finish(s.blocks[2], 2);
        s.finish(s.blocks[3], 2);
        s.recovery->finished(2, 10, 0.5, 0.5);
        s.recovery->finished(3, 10, slow_s, slow_s);
        std::map<std::int64_t, std::vector<int>> by;
        for (const Block& piece : s.flow->look(4)) by[piece.again_of].push_back(piece.processor);  // overdue by 2 s
        CHECK(by[s.blocks[0].id] == std::vector{2});
        CHECK(by[s.blocks[1].id] == (slow_s < 1 ? std::vector{3} : std::vector<int>{}));  // 2 is done with both in 1 s
    }
}
