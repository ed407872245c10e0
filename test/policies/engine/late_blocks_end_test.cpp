// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which of several late blocks others compute first, and what counts in the end: the block or what was computed again.
#include "test/catch.hpp"
#include "test/policies/engine/late_blocks.hpp"

using namespace apportion;
using namespace apportion::test;

using Ids = std::vector<std::int64_t>;

TEST_CASE("of two late blocks the one that is late by more is computed again first") {
    for (const std::size_t longer : {0U, 1U}) {
        Situation s(3);
        s.flow->begins(s.blocks[1 - longer].id, 1.5);
        s.finish(s.blocks[2], 2);
        const auto pieces = s.flow->look(4);
        REQUIRE(pieces.size() == 1);
        CHECK(pieces[0].again_of == s.blocks[longer].id);
    }
}

TEST_CASE("where the block behind a late one is computed again first, it is taken over alone") {
    LoadDescription load;
    load.processors.resize(3);
    load.processors[0].own_memory = true;
    load.units = 40;
    Fixed policy;
    Recovery recovery(kFactor, 3);
    for (const int p : {0, 1, 2}) recovery.finished(p, 10, 1, 1);
    BlockFlow flow(load, policy, {}, &recovery);
    const auto blocks = begin_first_blocks(flow);
    REQUIRE(blocks.size() == 4);
    const std::int64_t runs = blocks[0].id, waits = blocks[3].id;
    REQUIRE(blocks[3].processor == 0);
    flow.begins(waits, -1);
    for (const int p : {1, 2}) CHECK(flow.finished(blocks[static_cast<std::size_t>(p)].id, 0, 1, 1, 1).empty());
    const auto halves = flow.look(2);
    REQUIRE(halves.size() == 2);
    CHECK(halves[0].again_of == runs);
    const auto other = flow.finished(halves[0].id, 2, 2.5, 0.5, 2.5);
    REQUIRE(other.size() == 1);
    CHECK(other[0].again_of == waits);
    flow.finished(other[0].id, 2.5, 3.5, 1, 3.5);
    const Decisions decisions = flow.take_decisions();
    CHECK(decisions.given_up == Ids{waits});
    CHECK(decisions.counted == Ids{other[0].id});
    CHECK(decisions.lost.empty());
    CHECK(policy.lost.empty());
    REQUIRE(flow.in_flight(0).size() == 1);
    flow.finished(runs, 0, 3.6, 3.6, 3.6);
    CHECK(flow.done());
}

TEST_CASE("late blocks of a device with another behind them come before those of who ends its only one earlier") {
    LoadDescription load;
    load.processors.resize(3);
    load.processors[1].own_memory = true;
    load.units = 40;
    Fixed policy;
    Recovery recovery(kFactor, 3);
    BlockFlow flow(load, policy, {}, &recovery);
    const auto blocks = begin_first_blocks(flow);
    REQUIRE(blocks.size() == 4);
    flow.begins(blocks[1].id, 0.1);
    flow.begins(blocks[3].id, -1);
    const auto pieces = flow.finished(blocks[2].id, 0, 0.8, 0.8, 1);
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].again_of == blocks[1].id);
}

TEST_CASE("when the pieces are done first, the block is taken over, and its processor is lost") {
    Situation s(3);
    const auto pieces = s.pieces_of_first();
    const int before = s.policy.finished;
    CHECK(s.finish(pieces[0], 3.5).empty());
    CHECK(s.flow->take_decisions().counted.empty());
    CHECK(s.finish(pieces[1], 3.6).empty());
    const Decisions decisions = s.flow->take_decisions();
    CHECK(decisions.counted == Ids{pieces[0].id, pieces[1].id});
    CHECK(decisions.given_up == Ids{s.blocks[0].id});
    CHECK(decisions.lost == std::vector{0});  // it is slower than it was
    CHECK(s.policy.lost == std::vector{0});
    CHECK(s.policy.finished == before);  // it did not ask for pieces
    CHECK(s.flow->done());
}

TEST_CASE("when the block ends first, its pieces count no more, whether they are computed or not") {
    Situation s(3);
    const auto pieces = s.pieces_of_first();
    s.finish(pieces[0], 3.5);
    s.finish(s.blocks[0], 3.6);
    const Decisions decisions = s.flow->take_decisions();
    CHECK(decisions.dropped == Ids{pieces[0].id, pieces[1].id});
    CHECK(decisions.given_up.empty());
    CHECK(s.flow->done());
    CHECK_FALSE(s.flow->in_flight(pieces[1].processor).empty());  // who needs its memory waits for it
    s.finish(pieces[1], 9);
    CHECK(s.flow->take_decisions().counted.empty());
    CHECK(s.policy.lost.empty());
}

TEST_CASE("units of a piece that was not computed are computed again by somebody else") {
    Situation s(3);
    s.finish(s.blocks[1], 2);
    const auto piece = s.flow->look(3);
    REQUIRE(piece.size() == 1);
    s.flow->give_back(piece[0].id);
    s.flow->fence(1);
    CHECK(s.finish(s.blocks[2], 4).empty());
    s.recovery->finished(2, 10, 1, 1);
    const auto again = s.flow->look(5);
    REQUIRE(again.size() == 1);
    CHECK(again[0].processor == 2);
    CHECK(again[0].first == s.blocks[0].first);
    CHECK(again[0].units == 10);
}

TEST_CASE("a late block that fails is handed out whole, and its pieces are dropped") {
    Situation s(3);
    const auto pieces = s.pieces_of_first();
    s.finish(pieces[0], 3.5);
    s.flow->fence(0);
    s.flow->give_back(s.blocks[0].id);
    CHECK(s.flow->take_decisions().dropped == Ids{pieces[0].id, pieces[1].id});
    CHECK(s.flow->remaining() == 10);
    const auto again = s.finish(pieces[1], 3.7);
    REQUIRE(again.size() == 1);
    CHECK(again[0].again_of < 0);
    s.finish(again[0], 5);
    CHECK(s.flow->done());
}
