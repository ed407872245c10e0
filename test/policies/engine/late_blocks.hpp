// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Blocks in flight that a test lets be late.
#pragma once

#include <memory>
#include <vector>

#include "policies/engine/block_flow.hpp"
#include "policies/engine/recovery.hpp"
#include "test/catch.hpp"

namespace apportion::test {

inline constexpr double kFactor = 50;

/// Gives everyone as much as the test says.
class Fixed final : public Policy {
  public:
    void begin(const LoadDescription&) override {}
    Units next_block(int, double, const Progress&) override { return units; }
    void block_finished(const FinishedBlock&) override { ++finished; }
    void processor_lost(int processor) override { lost.push_back(processor); }
    void processor_is_back(int processor) override { back.push_back(processor); }

    Units units = 10;
    int finished = 0;
    std::vector<int> lost, back;
};

/// A block for each processor that gets one: all begin at 0, and others may compute them.
inline std::vector<Block> begin_first_blocks(BlockFlow& flow) {
    const std::vector<Block> blocks = flow.ask_all(0);
    for (const Block& block : blocks) {
        flow.begins(block.id, 0);
        flow.may_be_taken_over(block.id);
    }
    return blocks;
}

/// Processors that compute 10 units a second (each has finished one such block), then have one block of 10 in flight,
/// begun at 1, and nothing is left.
struct Situation {
    explicit Situation(int processors, double factor = kFactor, Units granularity = 1, bool open = false) {
        load.processors.resize(static_cast<std::size_t>(processors));
        load.units = 20 * processors;
        load.open = open;
        load.granularity = granularity;
        recovery = std::make_unique<Recovery>(factor, load.processors.size());
        flow =
            std::make_unique<BlockFlow>(load, policy, std::vector<OwnedUnits>{}, factor > 0 ? recovery.get() : nullptr);
        for (const Block& block : open ? flow->add({0, load.units}, 0) : flow->ask_all(0)) {
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

    /// Of three processors two finish, and compute the block of the first again, each a half of it.
    std::vector<Block> pieces_of_first() {
        finish(blocks[1], 2);
        finish(blocks[2], 2);
        auto pieces = flow->look(3);
        REQUIRE(pieces.size() == 2);
        return pieces;
    }

    LoadDescription load;
    Fixed policy;
    std::unique_ptr<Recovery> recovery;
    std::unique_ptr<BlockFlow> flow;
    std::vector<Block> blocks;
};

}  // namespace apportion::test
