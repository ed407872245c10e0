// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/virtual_run.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "policies/engine/block_flow.hpp"
#include "policies/shared/block_costs.hpp"

namespace apportion {

namespace {

class VirtualRun {
  public:
    VirtualRun(const LoadDescription& load, Policy& policy, const std::vector<PiecewiseLinear>& functions)
        : load_(load), functions_(functions), lanes_(functions.size()), flow_(load, policy) {}

    double run() {
        accept(flow_.ask_all(0), 0);
        while (!events_.empty()) {
            const auto [at_s, number, home] = events_.top();
            events_.pop();
            const Running& block = blocks_[number];
            const std::size_t p = static_cast<std::size_t>(block.block.processor);
            if (home) {
                makespan_s_ = std::max(makespan_s_, at_s);
                if (load_.processors[p].own_memory &&
                    flow_.returned(block.block.id, block.block.processor, block.block.units, block.end_s, at_s))
                    accept(flow_.ask_freed(at_s), at_s);
                continue;
            }
            if (load_.processors[p].own_memory) flow_.goes_home(block.block.id);
            Lane& lane = lanes_[p];
            lane.out_free_s = std::max(lane.out_free_s, at_s) + out_s(load_, p, block.block.units);
            lane.in_free_s += held_up_s(load_, p, block.block.units);
            events_.emplace(lane.out_free_s, number, true);
            accept(flow_.finished(block.block.id, block.start_s, block.end_s, block.end_s - block.start_s, at_s), at_s);
        }
        return makespan_s_;
    }

  private:
    struct Lane {
        double in_free_s = 0, out_free_s = 0;  ///< the link, in either direction
        double free_s = 0;
    };
    struct Running {
        Block block;
        double start_s = 0, end_s = 0;
    };
    using Event = std::tuple<double, std::size_t, bool>;  ///< when, block, home (or its kernel ended)

    void accept(const std::vector<Block>& blocks, double now_s) {
        for (const Block& block : blocks) {
            const auto p = static_cast<std::size_t>(block.processor);
            Lane& lane = lanes_[p];
            lane.in_free_s = std::max(lane.in_free_s, now_s) + in_s(load_, p, block.units);
            lane.out_free_s += held_up_s(load_, p, block.units);
            const double start_s = std::max(lane.in_free_s, lane.free_s) + kBlockOverhead_s;
            lane.free_s = start_s + functions_[p].seconds(static_cast<double>(block.units));
            events_.emplace(lane.free_s, blocks_.size(), false);
            blocks_.push_back({block, start_s, lane.free_s});
        }
    }

    const LoadDescription& load_;
    const std::vector<PiecewiseLinear>& functions_;
    std::vector<Lane> lanes_;
    BlockFlow flow_;
    std::vector<Running> blocks_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    double makespan_s_ = 0;
};

}  // namespace

double virtual_makespan(const LoadDescription& load, Policy& policy, const std::vector<PiecewiseLinear>& functions) {
    LoadDescription whole = load;
    whole.open = false;
    whole.links = recorded_links(load);
    try {
        return VirtualRun(whole, policy, functions).run();
    } catch (const PolicyError&) {
        return std::numeric_limits<double>::infinity();
    }
}

}  // namespace apportion
