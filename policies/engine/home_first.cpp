// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/home_first.hpp"

#include <algorithm>

namespace apportion {

void HomeFirst::begin(const LoadDescription& load) {
    lost_ = false;
    begun_ = 0;
    alone_until_s_ = pace_.known() ? 0 : journey_s_;
    policy_.begin(load);
}

Units HomeFirst::next_block(int processor, double now_s, const Progress& progress) {
    if (ends_alone(progress)) return processor == kHome ? progress.remaining() : 0;
    if (now_s >= alone_until_s_) return policy_.next_block(processor, now_s, progress);
    if (processor != kHome || !progress.in_flight(kHome).empty()) return 0;
    const Units wanted = policy_.next_block(kHome, now_s, progress);
    const Units units = std::max({wanted, begun_, pace_.within(alone_until_s_ - now_s)});
    begun_ += std::min(units, progress.remaining());
    return units;
}

/// Whether node 0 would have computed everything that is left before an answer could come.
bool HomeFirst::ends_alone(const Progress& progress) const {
    if (lost_ || !pace_.known()) return false;
    Units units = progress.remaining();
    for (const BlockInFlight& block : progress.in_flight(kHome)) units += block.units;
    return pace_.at_most_s(units) <= journey_s_;
}

void HomeFirst::block_finished(const FinishedBlock& block) {
    // Grants that are computed together end together: the last of them takes no time of its own.
    if (block.processor == kHome) pace_.add(block.units, std::max(block.end_s - block.start_s, block.busy_s));
    policy_.block_finished(block);
}

void HomeFirst::processor_lost(int processor) {
    if (processor == kHome) {
        lost_ = true;
        alone_until_s_ = 0;
    }
    policy_.processor_lost(processor);
}

}  // namespace apportion
