// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How much of a device's memory the blocks of a load take, in units. A block takes its room until its task has ended
// and its results are at home: what is in the way of the next one the runtime must write back first, while all of the
// device's transfers wait. So they do when memory is freed and allocated in other pieces (in StarPU's simulation those
// of all devices, slow links' as well). Rooms have few sizes, therefore, so that a block fits where another one was:
//
//  - an equal part of the load for each device fits twice: powers of two;
//  - otherwise data stream through four buffers, each a quarter of the memory: one is filled, one is computed with, and
//    two are emptied;
//  - a larger block, for which a policy asks where fixed costs are high, takes several of these buffers, and none while
//    its results go home: the runtime makes room as these leave.
//
// No room is larger than what is left, unless the block is. Beside others, less than a quarter is no room: it would be
// for a small block, which pays fixed costs once more.
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

    /// Without a limit: nothing is counted.
    DeviceMemory() = default;
    /// `limit`: units whose data fit; `share`: units of an equal part of the load.
    DeviceMemory(Units limit, Units share, Units granularity)
        : limit_(std::max(limit, granularity)),
          buffer_(std::max(limit_ / kBuffers / granularity, Units{1}) * granularity),
          streams_(share > limit_ / 2) {}

    /// Units that fit beside what is there; 0: none now. All of it, if it is empty.
    Units room() const {
        const Units left = limit_ - taken_;
        return taken_ > 0 && left < buffer_ ? 0 : left;
    }
    /// The block comes. Returns the room that it takes; 0: nothing is counted.
    Units take(std::int64_t block, Units units) {
        if (limit_ == kNoLimit) return 0;
        const Units whole = streams_ ? (units + buffer_ - 1) / buffer_ * buffer_
                                     : static_cast<Units>(std::bit_ceil(static_cast<std::uint64_t>(units)));
        const Units room = std::max(units, std::min(whole, limit_ - taken_));
        blocks_[block] = {room};
        taken_ += room;
        return room;
    }
    /// The results of the block, whose task ends, go home, ...
    void goes_home(std::int64_t block) {
        const auto its = blocks_.find(block);
        if (its == blocks_.end() || (streams_ && its->second.room > buffer_)) return;
        its->second.goes_home = true;
        ++going_;
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
    /// Whether there is more room as soon as results are at home.
    bool empties() const { return going_ > 0; }

  private:
    struct Block {
        Units room = 0;
        bool goes_home = false;
    };
    void leave(std::unordered_map<std::int64_t, Block>::iterator block) {
        taken_ -= block->second.room;
        blocks_.erase(block);
    }

    Units limit_ = kNoLimit, buffer_ = 0, taken_ = 0;
    bool streams_ = false;
    int going_ = 0;
    std::unordered_map<std::int64_t, Block> blocks_;
};

}  // namespace apportion
