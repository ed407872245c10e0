// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Data of a load that stayed on devices between its runs (APPORTION_KEEP), and handles that are no longer in use. A
// block of the same units takes its handles again; any other overlapping block waits until they are in main memory.
//
// Belongs to the load. While a run is on, only under that run's lock.
#pragma once

#include <starpu.h>

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "policies/starpu/block_data.hpp"

namespace apportion {

class KeptData {
  public:
    /// Brings a handle to main memory, of this evacuation.
    using Depart = std::function<void(starpu_data_handle_t, Units)>;

    /// The data of exactly the block's units, if they were kept, divided among as many workers. All others that overlap
    /// begin to go home.
    std::optional<BlockData> take(const BlockData& block, const Depart& depart);

    /// Makes the block wait for all evacuations that overlap with the units; returns their number.
    unsigned wait_for_home(std::int64_t block, Units first, Units units);

    /// A departed handle is in main memory. Returns the blocks that wait for this evacuation when it was the last.
    std::vector<std::int64_t> arrived(Units evacuation);

    /// A block is done: its data stay if they are to, else they are retired. Without memory for it they stay the
    /// block's.
    void keep(BlockData&& data);
    /// A block does not count: of its data only results of earlier runs stay.
    void keep_earlier(BlockData&& data);
    bool empty() const { return kept_.empty(); }
    /// Whether something is registered with StarPU.
    bool any() const { return !kept_.empty() || !evacuations_.empty() || !retired_.empty(); }
    /// Of the bytes of the blocks that some stay of, the part that does.
    double part() const;
    bool evacuating() const { return !evacuations_.empty(); }
    BufferSizes& buffers_on(unsigned node) { return buffers_[node]; }
    /// Whether data are on their way from this memory.
    bool leaves(unsigned node) const;

    /// From a thread that is no StarPU worker, while no run is on: brings everything home and forgets it.
    void release();

    /// Handles to be unregistered.
    std::list<BlockHandle> take_retired() { return std::exchange(retired_, {}); }
    /// ... the oldest of them, at most so many.
    std::list<BlockHandle> take_retired(std::size_t most);
    std::size_t retired() const { return retired_.size(); }

  private:
    struct Evacuation {
        BlockData data = {};
        unsigned on_the_way = 0;
        std::vector<std::int64_t> waiting = {};
    };

    void evacuate(BlockData& data, const Depart& depart);
    void retire(BlockData& data, std::list<BlockHandle>::iterator handle);
    void retire(BlockData& data);

    std::map<Units, BlockData> kept_;  ///< by first unit, disjoint
    std::map<Units, Evacuation> evacuations_;
    std::list<BlockHandle> retired_;
    std::map<unsigned, BufferSizes> buffers_;  ///< by memory node
};

}  // namespace apportion
