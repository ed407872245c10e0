// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rule of recovery.hpp as BlockFlow carries it out, step by step; the laws for every policy are in laws_test.cpp.
#include "policies/engine/recovery.hpp"

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "policies/engine/block_flow.hpp"
#include "test/catch.hpp"

using namespace apportion;

using Ids = std::vector<std::int64_t>;

namespace {

constexpr double kFactor = 50;

/// Gives everyone as much as the test says.
class Fixed final : public Policy {
  public:
    void begin(const LoadDescription&) override {}
    Units next_block(int, double, const Progress&) override { return units; }
    void block_finished(const FinishedBlock&) override { ++finished; }
    void processor_lost(int processor) override { lost.push_back(processor); }

    Units units = 10;
    int finished = 0;
    std::vector<int> lost;
};

/// Processors that compute 10 units a second (each has finished one such block), then have one block of 10 in flight,
/// begun at 1, and nothing is left.
struct Situation {
    explicit Situation(int processors, double factor = kFactor, Units granularity = 1) {
        load.processors.resize(static_cast<std::size_t>(processors));
        load.units = 20 * processors;
        load.granularity = granularity;
        recovery = std::make_unique<Recovery>(factor, load.processors.size());
        flow =
            std::make_unique<BlockFlow>(load, policy, std::span<const Block>{}, factor > 0 ? recovery.get() : nullptr);
        for (const Block& block : flow->ask_all(0)) {
            flow->begins(block.id, 0);
            for (const Block& next : flow->finished(block.id, 0, 1, 1, 1)) blocks.push_back(next);
        }
        REQUIRE(flow->remaining() == 0);
        REQUIRE(blocks.size() == static_cast<std::size_t>(processors));
        for (const Block& block : blocks) {
            flow->begins(block.id, 1);
            flow->may_be_taken_over(block.id);
        }
    }
    std::vector<Block> finish(const Block& block, double end_s) {
        return flow->finished(block.id, end_s - 1, end_s, 1, end_s);
    }

    LoadDescription load;
    Fixed policy;
    std::unique_ptr<Recovery> recovery;
    std::unique_ptr<BlockFlow> flow;
    std::vector<Block> blocks;
};

}  // namespace

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
    CHECK(flow.next_look_s(1000) == 1001);  // it may have begun then
    CHECK(flow.look(1000).empty());
    flow.begins(blocks[0].id, 1000);
    CHECK(flow.look(1001.5).empty());
    CHECK_FALSE(flow.look(1002).empty());
    CHECK(other.units == 10);
}

TEST_CASE("when the program stood still, nobody is late for that") {
    Situation s(2);
    s.finish(s.blocks[1], 2);
    s.flow->stood_still(100);
    CHECK(s.flow->look(102.9).empty());
    CHECK_FALSE(s.flow->look(103).empty());
}

TEST_CASE("pieces take no longer than the block is late, are shared by all who idle, and grow while it stays away") {
    Situation s(3);
    s.finish(s.blocks[1], 2);
    s.finish(s.blocks[2], 2);
    const auto pieces = s.flow->look(3);
    REQUIRE(pieces.size() == 2);
    CHECK(pieces[0].units == 5);
    CHECK(pieces[1].units == 5);
    CHECK(pieces[0].first + pieces[0].units == pieces[1].first);
}

TEST_CASE("a slow processor takes no piece that would take it longer than the block is late") {
    Situation s(2);
    const auto first = s.flow->finished(s.blocks[1].id, 1, 21, 20, 21);  // 2 s a unit, seen in one block of 10
    CHECK(first.empty());                                                // its last block of that size counts
    CHECK_FALSE(s.flow->look(22).empty());                               // late by 20 s
    Situation slow(2);
    slow.finish(slow.blocks[1], 2);
    for (int k = 0; k < 4; ++k) slow.recovery->finished(1, 10, 20, 20);
    CHECK(slow.flow->look(10).empty());  // late by 8 s
    CHECK(slow.flow->next_look_s(10) == 22);
    CHECK_FALSE(slow.flow->look(22).empty());
}

TEST_CASE("no piece is longer than the block is late, however much is spare") {
    Situation s(3);
    s.finish(s.blocks[1], 2);
    s.finish(s.blocks[2], 2);
    s.recovery->finished(1, 10, 10, 10);
    s.recovery->finished(1, 1, 1, 1);  // 1 unit a second
    s.recovery->finished(2, 10, 2, 2);
    s.recovery->finished(2, 1, 0.2, 0.2);  // 5 units a second
    const auto pieces = s.flow->look(3);   // late by 1 s
    REQUIRE(pieces.size() == 2);
    for (const Block& piece : pieces) CHECK(piece.units == (piece.processor == 1 ? 1 : 5));
}

TEST_CASE("the first block of a processor is computed again by others that need an eighth of the time it has run") {
    LoadDescription load;
    load.processors.resize(3);
    load.units = 50;
    Fixed policy;
    Recovery recovery(kFactor, 3);
    BlockFlow flow(load, policy, {}, &recovery);
    auto blocks = flow.ask_all(0);
    for (const Block& block : blocks) {
        flow.begins(block.id, 0);
        flow.may_be_taken_over(block.id);
    }
    const auto second = flow.finished(blocks[1].id, 0, 1, 1, 1), third = flow.finished(blocks[2].id, 0, 1, 1, 1);
    REQUIRE(flow.remaining() == 0);
    REQUIRE(second.size() == 1);
    CHECK(std::isinf(flow.next_look_s(1.5)));
    flow.begins(second[0].id, 1);
    flow.begins(third[0].id, 1);
    CHECK(flow.finished(second[0].id, 1, 2, 1, 2).empty());
    CHECK(flow.finished(third[0].id, 1, 2, 1, 2).empty());
    CHECK(flow.next_look_s(2) == 8);
    CHECK(flow.look(7.9).empty());
    const auto pieces = flow.look(8);  // 10 units take 1 s
    REQUIRE(pieces.size() == 2);
    for (const Block& piece : pieces) {
        CHECK(piece.again_of == blocks[0].id);
        CHECK(piece.units == 5);
    }
}

TEST_CASE("a piece goes to who is done with it first, even if that has to end something else before") {
    for (const double slow_s : {0.8, 1.5}) {
        Situation s(4);  // 0 and 1 stay away, 2 is fast, 3 is slow
        s.finish(s.blocks[2], 2);
        s.finish(s.blocks[3], 2);
        s.recovery->finished(2, 10, 0.5, 0.5);
        s.recovery->finished(3, 10, slow_s, slow_s);
        std::map<std::int64_t, std::vector<int>> by;
        for (const Block& piece : s.flow->look(4)) by[piece.again_of].push_back(piece.processor);  // late by 2 s
        CHECK(by[s.blocks[0].id] == std::vector{2});
        CHECK(by[s.blocks[1].id] == (slow_s < 1 ? std::vector{3} : std::vector<int>{}));  // 2 is done with both in 1 s
    }
}

TEST_CASE("when the pieces are done first, the block is taken over, and its processor is lost") {
    Situation s(3);
    s.finish(s.blocks[1], 2);
    s.finish(s.blocks[2], 2);
    const auto pieces = s.flow->look(3);
    REQUIRE(pieces.size() == 2);
    const int before = s.policy.finished;
    CHECK(s.finish(pieces[0], 3.5).empty());
    CHECK(s.flow->take_decisions().counted.empty());
    CHECK(s.finish(pieces[1], 3.6).empty());
    const Decisions decisions = s.flow->take_decisions();
    CHECK(decisions.counted == Ids{pieces[0].id, pieces[1].id});
    CHECK(decisions.given_up == Ids{s.blocks[0].id});
    CHECK(s.flow->fenced(0));
    CHECK(s.policy.lost == std::vector{0});
    CHECK(s.policy.finished == before);  // it did not ask for pieces
    CHECK(s.flow->done());
}

TEST_CASE("when the block ends first, its pieces count no more, whether they are computed or not") {
    Situation s(3);
    s.finish(s.blocks[1], 2);
    s.finish(s.blocks[2], 2);
    const auto pieces = s.flow->look(3);
    REQUIRE(pieces.size() == 2);
    s.finish(pieces[0], 3.5);
    s.finish(s.blocks[0], 3.6);
    const Decisions decisions = s.flow->take_decisions();
    CHECK(decisions.dropped == Ids{pieces[0].id, pieces[1].id});
    CHECK(decisions.given_up.empty());
    CHECK_FALSE(s.flow->done());  // a piece still runs
    s.finish(pieces[1], 3.9);
    CHECK(s.flow->take_decisions().counted.empty());
    CHECK(s.flow->done());
}

TEST_CASE("units of a piece that was not computed are computed again by somebody else") {
    Situation s(3);
    s.finish(s.blocks[1], 2);
    const auto piece = s.flow->look(3);
    REQUIRE(piece.size() == 1);
    s.flow->give_back(piece[0].id);
    s.flow->fence(1);
    CHECK(s.finish(s.blocks[2], 4).empty());  // it took 3 s from when it was given, ...
    const auto again = s.flow->look(5);       // ... as long as the block is late now
    REQUIRE(again.size() == 1);
    CHECK(again[0].processor == 2);
    CHECK(again[0].first == s.blocks[0].first);
    CHECK(again[0].units == 10);
}

TEST_CASE("a late block that fails is handed out whole, and its pieces are dropped") {
    Situation s(3);
    s.finish(s.blocks[1], 2);
    s.finish(s.blocks[2], 2);
    const auto pieces = s.flow->look(3);
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
    CHECK(flow.take_decisions().given_up == Ids{blocks[0].id});
}

TEST_CASE("after an error nobody computes anything again, and who stalls is given up although others still compute") {
    Situation s(3);
    s.finish(s.blocks[1], 2);
    CHECK(s.flow->look(3, true).empty());
    CHECK(s.flow->take_decisions().given_up.empty());
    const double stalls_s = s.flow->next_look_s(3, true);
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
    CHECK(flow.stalls_at_s(0) == 2.5);
    CHECK(std::isinf(flow.stalls_at_s(1)));
    flow.begins(blocks[1].id, 2);
    CHECK(flow.silent_at_s() == 3.5);
    flow.stood_still(10);
    CHECK(flow.silent_at_s() == 13.5);
    flow.finished(blocks[1].id, 12, 13, 1, 13);
    CHECK(flow.silent_at_s() == 12.5);
}
