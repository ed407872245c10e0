// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Blocks that a policy calls trials: of the last units, which stay free while others may compute them.
#include <vector>

#include "test/catch.hpp"
#include "test/policies/engine/late_blocks.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

/// The first blocks of all are trials.
class Trying final : public Policy {
  public:
    void begin(const LoadDescription& load) override { tried_.assign(load.processors.size(), false); }
    Units next_block(int processor, double, const Progress& progress) override {
        trial_ = !tried_[static_cast<std::size_t>(processor)];
        tried_[static_cast<std::size_t>(processor)] = true;
        return trial_ ? trial : std::min(units, progress.remaining());
    }
    bool answered_trial() const override { return trial_; }
    void block_finished(const FinishedBlock& block) override { finished.push_back(block); }
    void processor_lost(int processor) override { lost.push_back(processor); }
    void processor_is_back(int processor) override { back.push_back(processor); }

    Units trial = 4, units = 30;
    std::vector<FinishedBlock> finished;
    std::vector<int> lost, back;

  private:
    std::vector<bool> tried_;
    bool trial_ = false;
};

/// A load of 100 units on three processors that have each been given a trial, and begun it.
struct Tried {
    explicit Tried(Units granularity = 1, Units units = 100, bool open = false) {
        load.processors.resize(3);
        load.units = units;
        load.granularity = granularity;
        load.open = open;
        flow = std::make_unique<BlockFlow>(load, policy, std::vector<OwnedUnits>{}, &recovery);
        trials = open ? flow->add({0, units}, 0) : flow->ask_all(0);
        REQUIRE(trials.size() == 3);
        for (const Block& block : trials) flow->begins(block.id, 0);
    }
    void may_all_be_taken_over() {
        for (const Block& block : trials) flow->may_be_taken_over(block.id);
    }
    std::vector<Block> finish(const Block& block, double end_s) { return flow->finished(block.id, 0, end_s, 1, end_s); }

    LoadDescription load;
    Trying policy;
    Recovery recovery{kFactor, 3};
    std::unique_ptr<BlockFlow> flow;
    std::vector<Block> trials;
};

}  // namespace

TEST_CASE("trials are of the last units, and these are free as soon as others may compute them") {
    Tried s;
    CHECK(s.trials[0].first == 96);
    CHECK(s.trials[1].first == 92);
    CHECK(s.trials[2].first == 88);
    CHECK(s.flow->remaining() == 88);
    s.flow->may_be_taken_over(s.trials[1].id);
    s.flow->may_be_taken_over(s.trials[1].id);
    CHECK(s.flow->remaining() == 92);
    CHECK(s.flow->in_flight(1).size() == 1);
}

TEST_CASE("a trial of a load whose last units are no granule leaves these alone") {
    Tried s(8, 99);
    CHECK(s.trials[0].first == 88);
    CHECK(s.trials[0].units == 8);
    CHECK(s.trials[1].first == 80);
}

TEST_CASE("a trial that ends before anybody was given its units counts, and nobody gets them") {
    Tried s;
    s.may_all_be_taken_over();
    REQUIRE(s.flow->remaining() == 100);
    const auto next = s.finish(s.trials[1], 1);
    REQUIRE(next.size() == 1);
    CHECK(next[0].first == 0);
    CHECK(next[0].units == 30);
    CHECK(s.flow->remaining() == 66);
    CHECK(s.policy.finished.size() == 1);
    CHECK(s.flow->take_decisions().given_up.empty());
    // The hole that it left ends the units that come before it.
    s.policy.units = 88;
    CHECK(s.finish(s.trials[2], 1)[0].units == 58);
    CHECK(s.finish(s.trials[0], 1).empty());
    CHECK(s.flow->remaining() == 0);
}

TEST_CASE("who is given units of a trial ends it; its processor waits until somebody tells that it is free") {
    Tried s;
    s.may_all_be_taken_over();
    s.policy.units = 98;
    const auto next = s.finish(s.trials[2], 1);  // 88 to 92 have been computed
    REQUIRE(next.size() == 1);
    CHECK(next[0].units == 88);
    CHECK(s.flow->take_decisions().given_up.empty());
    s.policy.units = 2;
    const auto last = s.flow->finished(next[0].id, 1, 2, 1, 2);
    REQUIRE(last.size() == 1);
    CHECK(last[0].first == 92);
    CHECK(s.flow->take_decisions().given_up == std::vector{s.trials[1].id});
    CHECK(s.policy.lost == std::vector{1});
    CHECK(s.flow->occupied(1));
    CHECK(s.flow->in_flight(1).empty());
    CHECK(s.flow->remaining() == 6);  // what nobody took of it, and the other trial
    s.flow->set_occupied(1, false);
    CHECK(s.policy.back == std::vector{1});
    s.policy.units = 6;
    const auto rest = s.flow->ask_all(3);
    REQUIRE(rest.size() == 1);
    CHECK(rest[0].processor == 1);
    CHECK(rest[0].first == 94);
    CHECK(s.flow->take_decisions().given_up == std::vector{s.trials[0].id});
    s.flow->finished(rest[0].id, 3, 4, 1, 4);
    s.flow->finished(last[0].id, 2, 4, 1, 4);
    CHECK(s.flow->done());
}

TEST_CASE("a trial that fails leaves its units free once, and one that nobody may take is waited for") {
    Tried s;
    s.flow->may_be_taken_over(s.trials[0].id);
    CHECK(s.flow->give_back(s.trials[0].id));
    CHECK(s.flow->give_back(s.trials[1].id));
    CHECK(s.flow->remaining() == 96);
    s.policy.units = 200;
    const auto all = s.flow->ask_all(1);
    REQUIRE(all.size() == 2);
    CHECK(all[0].units == 88);
    CHECK(all[1].first == 92);
    CHECK(all[1].units == 8);
    CHECK(s.flow->remaining() == 0);
    CHECK_FALSE(s.flow->done());
    CHECK(s.flow->in_flight(2).size() == 1);
}

TEST_CASE("a trial whose units the policy gives nobody is a block as others when nothing else is left") {
    Tried s;
    s.may_all_be_taken_over();
    s.policy.units = 44;
    std::vector<Block> blocks;
    for (const int p : {0, 1})  // 4 units a second
        for (const Block& block : s.finish(s.trials[static_cast<std::size_t>(p)], 1)) blocks.push_back(block);
    REQUIRE(blocks.size() == 2);
    for (const Block& block : blocks) s.flow->begins(block.id, 1);
    CHECK(s.flow->remaining() == 4);
    s.policy.units = 0;
    const auto pieces = s.flow->finished(blocks[0].id, 1, 12, 11, 12);  // how long the trial should take nobody knows
    CHECK(s.flow->remaining() == 0);
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].again_of == s.trials[2].id);
    s.flow->finished(s.trials[2].id, 0, 13, 13, 13);  // of both, what ends first counts
    CHECK(s.flow->take_decisions().dropped == std::vector{pieces[0].id});
    s.flow->finished(blocks[1].id, 1, 12, 11, 13);
    CHECK(s.flow->done());
}

TEST_CASE("in an open load, whose units may be taken back, trials are blocks as others") {
    Tried s(1, 100, true);
    CHECK(s.trials[0].first == 0);
    s.may_all_be_taken_over();
    CHECK(s.flow->remaining() == 88);
}

TEST_CASE("who begins at the end computes the last units that are left, before trials that others may take over") {
    struct FromBothEnds final : Policy {
        void begin(const LoadDescription&) override {}
        Units next_block(int, double, const Progress&) override { return 16; }
        bool begins_at_end(int processor) const override { return processor == 1; }
    } policy;
    LoadDescription load;
    load.processors.resize(2);
    load.units = 99;
    load.granularity = 8;
    for (const bool open : {false, true}) {
        load.open = open;
        BlockFlow flow(load, policy);
        if (!open) CHECK(flow.next_units(1).from_end);
        auto blocks = open ? flow.add({0, 99}, 0) : flow.ask_all(0);
        REQUIRE(blocks.size() == 2);
        CHECK(blocks[0].first == 0);
        CHECK(blocks[1].first == (open ? 16 : 80));  // 96 to 99 are no granule
        std::vector<bool> computed(99);
        for (std::size_t k = 0; k < blocks.size(); ++k) {
            const Block block = blocks[k];
            for (Units unit = block.first; unit < block.first + block.units; ++unit) {
                CHECK_FALSE(computed[static_cast<std::size_t>(unit)]);
                computed[static_cast<std::size_t>(unit)] = true;
            }
            const double now_s = static_cast<double>(k + 1);
            for (const Block& next : flow.finished(block.id, now_s - 1, now_s, 1, now_s)) blocks.push_back(next);
            if (k == 1 && !open) CHECK(blocks.back().first == 64);
        }
        CHECK(flow.done());
        CHECK(std::ranges::count(computed, true) == 99);
    }
}
