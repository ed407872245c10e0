// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a block costs beside its kernel. Plans, virtual runs and the guard of a plan count it alike.
#pragma once

#include <vector>

#include "models/transfer.hpp"
#include "policies/policy.hpp"

namespace apportion {

inline constexpr double kBlockOverhead_s = 5e-5;  ///< of the runtime, for every block

/// Of a block's data to a processor; none where it works in main memory or its link is not known.
inline double in_s(const LoadDescription& load, std::size_t processor, Units units) {
    if (processor >= load.links.size() || !load.processors[processor].own_memory) return 0;
    return load.links[processor].in.seconds(units);
}

/// The same of its results.
inline double out_s(const LoadDescription& load, std::size_t processor, Units units) {
    if (processor >= load.links.size() || !load.processors[processor].own_memory) return 0;
    return load.links[processor].out.seconds(units);
}

inline LoadDescription::Link link_of(const TransferLine& in, const TransferLine& out) {
    return {{in.latency_s(), in.seconds_per_unit()}, {out.latency_s(), out.seconds_per_unit()}};
}

/// Links as transfers were seen beside the kernels' recorded times, of what earlier runs learnt or of a profile; as
/// they are known otherwise where none was. Empty: of none anything is known.
std::vector<LoadDescription::Link> recorded_links(const LoadDescription& load);

}  // namespace apportion
