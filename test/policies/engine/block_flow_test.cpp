// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/block_flow.hpp"

#include <deque>
#include <functional>

#include "test/catch.hpp"
#include "test/policies/engine/late_blocks.hpp"

using namespace apportion;

namespace {

// Answers with whatever the test says.
class Scripted final : public Policy {
  public:
    explicit Scripted(std::function<Units(int, const Progress&)> answer) : answer_(std::move(answer)) {}
    void begin(const LoadDescription&) override {}
    Units next_block(int processor, double, const Progress& progress) override { return answer_(processor, progress); }
    void block_finished(const FinishedBlock& block) override { finished.push_back(block); }
    std::vector<FinishedBlock> finished;

  private:
    std::function<Units(int, const Progress&)> answer_;
};

LoadDescription load_of(Units units, int processors, Units granularity = 1) {
    LoadDescription load;
    load.units = units;
    load.granularity = granularity;
    load.initial_block = granularity;
    load.processors.resize(static_cast<std::size_t>(processors));
    return load;
}

// Finishes the oldest block first until none is in flight; returns all blocks in the order they were handed out.
std::vector<Block> run(BlockFlow& flow) {
    std::vector<Block> all = flow.ask_all(0);
    for (std::size_t k = 0; k < all.size(); ++k) {
        const double t = static_cast<double>(k);
        const auto more = flow.finished(all[k].id, t, t + 1, 1, t + 1);
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

std::vector<int> times_covered(const std::vector<Block>& blocks, Units units) {
    std::vector<int> covered(static_cast<std::size_t>(units), 0);
    for (const Block& b : blocks)
        for (Units u = b.first; u < b.first + b.units; ++u) ++covered[static_cast<std::size_t>(u)];
    return covered;
}

}  // namespace

TEST_CASE("who finished at one moment is asked when all of that is told, each once before anybody twice") {
    std::vector<int> asked;
    std::size_t finished_when_asked = 0;
    Scripted policy([&](int processor, const Progress&) {
        asked.push_back(processor);
        finished_when_asked = policy.finished.size();
        return 1;
    });
    LoadDescription load = load_of(9, 3);
    load.processors[0].own_memory = true;  // up to two blocks at once
    BlockFlow flow(load, policy);
    const auto first = flow.ask_all(0);
    REQUIRE(first.size() == 4);
    asked.clear();
    for (const Block& block : first) flow.note_finished(block.id, 0, 1, 1, 1);
    CHECK(asked.empty());
    CHECK(flow.ask_freed(1).size() == 4);
    CHECK(finished_when_asked == 4);
    CHECK(asked == std::vector{0, 1, 2, 0});
    CHECK(flow.ask_freed(1).empty());
}

TEST_CASE("every unit is handed out exactly once, and only the block with the last units is no whole granule") {
    for (Units units : {0, 1, 7, 8, 99, 1000})
        for (Units granularity : {1, 3, 8}) {
            Units wish = 0;
            Scripted policy([&](int, const Progress&) { return wish = wish % 17 + 1; });
            BlockFlow flow(load_of(units, 3, granularity), policy);
            const auto blocks = run(flow);
            REQUIRE(flow.done());
            REQUIRE(times_covered(blocks, units) == std::vector<int>(static_cast<std::size_t>(units), 1));
            for (const Block& b : blocks) {
                REQUIRE(b.units > 0);
                REQUIRE(b.first % granularity == 0);
                if (b.first + b.units != units) REQUIRE(b.units % granularity == 0);
            }
        }
}

TEST_CASE("each processor gets its first block before anyone gets a second") {
    LoadDescription load = load_of(3, 3);
    for (Processor& p : load.processors) p.own_memory = true;  // room for two in flight
    Scripted policy([](int, const Progress&) { return 1; });
    BlockFlow flow(load, policy);
    const auto blocks = flow.ask_all(0);
    REQUIRE(blocks.size() == 3);
    for (int p = 0; p < 3; ++p) REQUIRE(flow.in_flight(p).size() == 1);
}

TEST_CASE("two blocks are in flight on a processor with its own memory, one elsewhere") {
    LoadDescription load = load_of(100, 2);
    load.processors[1].own_memory = true;
    Scripted policy([](int, const Progress&) { return 5; });
    BlockFlow flow(load, policy);
    flow.ask_all(0);
    REQUIRE(flow.in_flight(0).size() == 1);
    REQUIRE(flow.in_flight(1).size() == 2);
}

TEST_CASE("the blocks in flight on a processor never exceed its memory") {
    LoadDescription load = load_of(1000, 1, 4);
    load.processors[0].own_memory = true;
    load.processors[0].memory_units = 30;
    Scripted policy([](int, const Progress&) { return 1000; });
    BlockFlow flow(load, policy);
    auto blocks = flow.ask_all(0);
    REQUIRE(blocks.size() == 1);
    REQUIRE(blocks[0].units == 28);  // whole granules that fit
    REQUIRE(flow.room(0) == 0);
    run(flow);
}

TEST_CASE("a device whose memory is full of results on their way home gets its next block when there is room") {
    LoadDescription load = load_of(1000, 1);
    load.processors[0].own_memory = true;
    load.processors[0].memory_units = 40;
    Scripted policy([](int, const Progress&) { return 10; });
    BlockFlow flow(load, policy);
    std::vector<Block> blocks = flow.ask_all(0);
    REQUIRE(blocks.size() == 2);
    CHECK(blocks[0].room == 10);
    double now_s = 0;
    for (std::size_t k = 0; k < 4; ++k, ++now_s) {
        flow.goes_home(blocks[k].id);
        const auto more = flow.finished(blocks[k].id, now_s, now_s + 1, 1, now_s + 1);
        CHECK(more.size() == (k < 2 ? 1 : 0));
        blocks.insert(blocks.end(), more.begin(), more.end());
    }
    CHECK(flow.stalls() == 0);  // the load does not stand still: it waits for what is on its way
    CHECK(flow.returned(blocks[0].id, 0, 10, 1, 5));
    CHECK(flow.ask_freed(5).size() == 1);
    CHECK(flow.returned(blocks[1].id, 0, 10, 2, 6));
    CHECK(flow.ask_freed(6).size() == 1);
    CHECK_FALSE(flow.returned(blocks[2].id, 0, 10, 3, 7));  // two are in flight
}

TEST_CASE("a device without room for a granule waits for results on their way home, however few") {
    LoadDescription load = load_of(0, 1, 10);
    load.open = true;
    load.processors[0].own_memory = true;
    load.processors[0].memory_units = 11;
    Scripted policy([](int, const Progress&) { return 10; });
    BlockFlow flow(load, policy);
    flow.ask_all(0);
    const std::vector<Block> blocks = flow.add({0, 2}, 0);
    REQUIRE(blocks.size() == 1);
    flow.goes_home(blocks[0].id);
    flow.finished(blocks[0].id, 0, 1, 1, 1);
    CHECK(flow.add({10, 10}, 1).empty());
    CHECK(flow.stalls() == 0);
    CHECK(flow.returned(blocks[0].id, 0, 2, 1, 2));
    const std::vector<Block> rest = flow.ask_freed(2);
    REQUIRE(rest.size() == 1);
    CHECK(rest[0].units == 10);
}

TEST_CASE("a processor that declined is asked again when any block finishes") {
    bool open = false;
    Scripted policy([&](int p, const Progress&) { return p == 0 || open ? 1 : 0; });
    BlockFlow flow(load_of(10, 2), policy);
    auto blocks = flow.ask_all(0);
    REQUIRE(blocks.size() == 1);
    open = true;
    blocks = flow.finished(blocks[0].id, 0, 1, 1, 1);
    REQUIRE(blocks.size() == 2);
}

TEST_CASE("a policy that gives nobody anything cannot stop the load") {
    Scripted policy([](int, const Progress&) { return 0; });
    BlockFlow flow(load_of(20, 2), policy);
    const auto blocks = run(flow);
    REQUIRE(flow.done());
    REQUIRE(flow.stalls() == 20);
    REQUIRE(times_covered(blocks, 20) == std::vector<int>(20, 1));
}

TEST_CASE("units that are given back are handed out once more, to processors that are not fenced") {
    Scripted policy([](int, const Progress&) { return 10; });
    BlockFlow flow(load_of(40, 2), policy);
    auto blocks = flow.ask_all(0);
    REQUIRE(blocks.size() == 2);
    const Block lost = blocks[0];
    flow.fence(lost.processor);
    flow.give_back(lost.id);
    REQUIRE(flow.ask_all(0).empty());  // the other one is busy
    std::vector<Block> done{blocks[1]};
    std::deque<Block> queue{blocks[1]};
    while (!queue.empty()) {
        const Block b = queue.front();
        queue.pop_front();
        for (const Block& next : flow.finished(b.id, 0, 1, 1, 1)) {
            REQUIRE(next.processor != lost.processor);
            queue.push_back(next);
            done.push_back(next);
        }
    }
    REQUIRE(flow.done());
    REQUIRE(times_covered(done, 40) == std::vector<int>(40, 1));
}

TEST_CASE("the policy is told what a block cost and when the one before it ended") {
    Scripted policy([](int, const Progress&) { return 5; });
    BlockFlow flow(load_of(10, 1), policy);
    auto first = flow.ask_all(1);
    auto second = flow.finished(first[0].id, 2, 5, 3, 6);
    flow.finished(second[0].id, 7, 9, 2, 9);
    REQUIRE(policy.finished.size() == 2);
    REQUIRE(policy.finished[0].given_s == 1);
    REQUIRE(policy.finished[1].given_s == 6);
    REQUIRE(policy.finished[1].previous_end_s == 5);
    REQUIRE(policy.finished[1].units == 5);
}

TEST_CASE("a load that runs again gives each processor the units it had, block by block when sizes are equal") {
    auto size_of = [](int p, const Progress&) { return Units{p == 0 ? 10 : 30}; };
    Scripted policy(size_of);
    BlockFlow first(load_of(120, 2), policy);
    auto before = run(first);
    std::vector<OwnedUnits> owned;
    for (const Block& block : before) owned.push_back({block.processor, block.first, block.units});
    BlockFlow second(load_of(120, 2), policy, owned);
    auto after = run(second);
    auto in_order = [](const Block& a, const Block& b) { return a.first < b.first; };
    std::sort(before.begin(), before.end(), in_order);
    std::sort(after.begin(), after.end(), in_order);
    REQUIRE(before.size() == after.size());
    for (std::size_t k = 0; k < before.size(); ++k) {
        REQUIRE(before[k].first == after[k].first);
        REQUIRE(before[k].units == after[k].units);
        REQUIRE(before[k].processor == after[k].processor);
    }
}

TEST_CASE("a processor that has done its former units takes the others' last ones, whole granules still") {
    const std::vector<OwnedUnits> previous{{0, 0, 80}, {1, 80, 23}};
    Scripted policy([](int p, const Progress&) { return p == 1 ? 8 : 0; });
    BlockFlow flow(load_of(103, 2, 8), policy, previous);
    const auto blocks = run(flow);
    REQUIRE(flow.done());
    REQUIRE(times_covered(blocks, 103) == std::vector<int>(103, 1));
    for (const Block& b : blocks) REQUIRE(b.first % 8 == 0);
    REQUIRE(blocks[0].first == 80);  // its own first
    REQUIRE(blocks[3].first == 72);  // then the end of the other's
}

TEST_CASE("shares that move a little from run to run stay in one piece, in the order of the processors") {
    const std::vector<OwnedUnits> previous{{0, 0, 120}, {1, 120, 120}, {2, 240, 120}, {3, 360, 120}};
    for (const std::vector<Units>& shares :
         {std::vector<Units>{112, 128, 112, 128}, {128, 112, 128, 112}, {128, 128, 120, 104}}) {
        Scripted policy([&](int p, const Progress&) { return shares[static_cast<std::size_t>(p)]; });
        BlockFlow flow(load_of(480, 4, 8), policy, previous);
        const std::vector<Block> blocks = run(flow);
        REQUIRE(flow.done());
        REQUIRE(blocks.size() == 4);
        Units first = 0;
        for (std::size_t p = 0; p < 4; ++p) {
            REQUIRE(blocks[p].processor == static_cast<int>(p));
            REQUIRE(blocks[p].first == first);
            REQUIRE(blocks[p].units == shares[p]);
            first += shares[p];
        }
    }
}

TEST_CASE(
    "the smallest block of who is not known is computed apart, where that is little of the load or others may be "
    "faster") {
    struct Case {
        Units units;
        int kind_of_last;
        int wanted_apart;
    };
    for (const auto& [units, kind_of_last, wanted] : {Case{80, 0, 3}, Case{60, 0, 0}, Case{60, 1, 1}}) {
        Scripted policy([](int, const Progress& progress) { return progress.remaining() > 0 ? 10 : 0; });
        LoadDescription load = load_of(units, 3, 10);
        load.processors.back().kind = kind_of_last;
        Recovery recovery(2, 3);
        BlockFlow flow(load, policy, {}, &recovery);
        const auto apart = [](const std::vector<Block>& blocks) {
            return std::ranges::count(blocks, true, &Block::apart);
        };
        const std::vector<Block> first = flow.ask_all(0);
        REQUIRE(first.size() == 3);
        CHECK(apart(first) == wanted);
        CHECK(apart(flow.finished(first[0].id, 0, 1, 1, 1)) == 0);  // it is known now
    }
    Scripted policy([](int, const Progress&) { return 20; });
    const LoadDescription load = load_of(800, 3, 10);
    Recovery recovery(2, 3);
    BlockFlow flow(load, policy, {}, &recovery), without(load, policy);
    for (const Block& block : flow.ask_all(0)) CHECK_FALSE(block.apart);
    for (const Block& block : without.ask_all(0)) CHECK_FALSE(block.apart);
}

TEST_CASE("who would compute others' units again needs their data, however soon it had its own that stay with it") {
    LoadDescription load;
    load.processors.resize(1);
    load.units = 40;
    load.links = {{1, 0.5}};
    load.staying = 0.5;
    test::Fixed policy;
    Recovery recovery(test::kFactor, 1);
    BlockFlow flow(load, policy, {}, &recovery);
    const auto first = flow.ask_all(0);
    const auto second = flow.finished(first[0].id, 0, 1, 1, 1, 0, true);
    CHECK(recovery.should_run_s(0, 10) == 1);
    CHECK(recovery.whole(0).at_most_s(10) == 1 + 1 + 10 * 0.25);
    flow.finished(second[0].id, 3, 4, 1, 4, 0, false);  // they came, in two seconds
    CHECK(recovery.whole(0).at_most_s(10) == 3);
}
