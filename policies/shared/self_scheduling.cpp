// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/self_scheduling.hpp"

#include <algorithm>
#include <cmath>

namespace apportion {

void SelfScheduling::begin(const LoadDescription& load) {
    const bool again = same_processors(of_load_, load.processors);
    of_load_ = load.processors;
    lost_.assign(of_load_.size(), false);
    processors_ = static_cast<Units>(of_load_.size());
    granularity_ = load.granularity;
    initial_chunk_ = round_to_granularity(static_cast<double>(load.initial_block), granularity_) / granularity_;
    begin_loop(again);
}

Units SelfScheduling::next_block(int processor, double, const Progress& progress) {
    const Units left = quotient_up(progress.remaining(), granularity_);
    return std::clamp<Units>(chunk(processor, left), 1, left) * granularity_;
}

void SelfScheduling::set_lost(int processor, bool lost) {
    lost_[static_cast<std::size_t>(processor)] = lost;
    processors_ = std::max<Units>(1, std::ranges::count(lost_, false));
}

Units SelfScheduling::rounded_up(double granules, Units most) {
    if (!(granules > 0)) return 0;
    return granules < static_cast<double>(most) ? static_cast<Units>(std::ceil(granules)) : most;
}

}  // namespace apportion
