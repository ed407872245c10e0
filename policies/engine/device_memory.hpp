// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How much of a device's memory the blocks of a load take, in units. A block takes its room until its task has ended
// and its results are home: what is filled before that must first be emptied by the runtime, while all of the device's
// transfers wait. So does what needs memory in other pieces than there are. Therefore rooms have few sizes, so that a
// block fits where another one was:
//
//  - all that the device may get fits twice: powers of two;
//  - otherwise data stream through four buffers, each a quarter of the memory: one is filled, one is computed with, and
//    two are emptied;
//  - larger blocks, for which the load asks where fixed costs are high, take as many units as they have, and nothing
//    while their results go home: the runtime makes room as these leave.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>

#include "policies/policy.hpp"

namespace apportion {

class DeviceMemory {
  public:
    static constexpr Units kBuffers = 4;

    /// `limit`: units whose data fit (kNoLimit: nothing is counted); `share`: units that it may get.
    explicit DeviceMemory(Units limit = kNoLimit, Units share = 0)
        : limit_(limit), buffer_(limit != kNoLimit && share > limit / 2 ? limit / kBuffers : 0) {}

    /// Units that fit beside what is there; 0: none now. All of it, if it is empty.
    Units room() const {
        const Units left = limit_ - taken_;
        return left < (taken_ > 0 ? std::max(buffer_, Units{1}) : 1) ? 0 : left;
    }
    /// The block comes. Returns the room that it takes; 0: nothing is counted.
    Units take(std::int64_t block, Units units) {
        if (limit_ == kNoLimit) return 0;
        const auto power_of_two = static_cast<Units>(std::bit_ceil(static_cast<std::uint64_t>(units)));
        const Units room = std::max(units, buffer_ > 0 ? buffer_ : power_of_two);
        blocks_[block] = {room};
        taken_ += room;
        return room;
    }
    /// The results of the block, whose task ends, go home, ...
    void goes_home(std::int64_t block) {
        const auto its = blocks_.find(block);
        if (its != blocks_.end() && (buffer_ == 0 || its->second.room <= buffer_))
            its->second.goes_home = true, ++going_;
    }
    /// ... its task has ended, or it was given back, ...
    void ended(std::int64_t block) {
        const auto its = blocks_.find(block);
        if (its != blocks_.end() && !its->second.goes_home) leave(its);
    }
    /// ... and its results are home, if they went.
    void home(std::int64_t block) {
        const auto its = blocks_.find(block);
        if (its != blocks_.end() && its->second.goes_home) --going_, leave(its);
    }
    /// Whether there is little room now, and more as soon as results are home.
    bool empties() const { return going_ > 0 && taken_ > limit_ / 2; }

  private:
    struct Block {
        Units room = 0;
        bool goes_home = false;
    };
    void leave(std::unordered_map<std::int64_t, Block>::iterator block) {
        taken_ -= block->second.room;
        blocks_.erase(block);
    }

    Units limit_, buffer_;  ///< 0: no buffers
    Units taken_ = 0;
    int going_ = 0;
    std::unordered_map<std::int64_t, Block> blocks_;
};

}  // namespace apportion
