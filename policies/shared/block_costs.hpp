// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a block costs beside its kernel, as it is known before any block ran, and links as they were seen. Plans,
// virtual runs and the guard of a plan count it alike.
#pragma once

#include <algorithm>

#include "models/transfer.hpp"
#include "policies/policy.hpp"

namespace apportion {

inline constexpr double kBlockOverhead_s = 5e-5;  ///< of the runtime, for every block

/// Of a block's data in one direction: half of what the link is known to need for both.
inline double one_way_s(const LoadDescription::Link& link, Units units) {
    return (link.latency_s + link.seconds_per_unit * static_cast<double>(units)) / 2;
}

/// The same for a processor of the load; none where it works in main memory or its link is not known.
inline double one_way_s(const LoadDescription& load, std::size_t processor, Units units) {
    if (processor >= load.links.size() || !load.processors[processor].own_memory) return 0;
    return one_way_s(load.links[processor], units);
}

/// As slow as transfers were seen beside those of others, which may share the link; at least as it was calibrated.
inline LoadDescription::Link seen_link(LoadDescription::Link link, const TransferLine& in, const TransferLine& out) {
    const TransferLine both = in + out;
    link.latency_s = std::max(link.latency_s, both.latency_s());
    link.seconds_per_unit = std::max(link.seconds_per_unit, both.seconds_per_unit());
    return link;
}

}  // namespace apportion
