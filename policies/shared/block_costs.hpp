// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a block costs, by the record and beside its kernel. Plans, virtual runs and the guard of a plan count it alike.
#pragma once

#include <vector>

#include "models/piecewise_linear.hpp"
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

/// By this, either holds up the other.
inline double held_up_s(const LoadDescription& load, std::size_t processor, Units units) {
    if (processor >= load.links.size() || !load.processors[processor].own_memory) return 0;
    return load.links[processor].held_up_s(units);
}

inline LoadDescription::Link link_of(const TransferLine& in, const TransferLine& out, const TransferLine& both = {}) {
    const auto way = [](const TransferLine& line) {
        return LoadDescription::Way{line.latency_s(), line.seconds_per_unit()};
    };
    return {way(in), way(out), way(both)};
}

/// Links as transfers were seen beside the kernels' recorded times, of what earlier runs learnt or of a profile; as
/// they are known otherwise where none was. Empty: of none anything is known.
std::vector<LoadDescription::Link> recorded_links(const LoadDescription& load);

/// The recorded times of kernels; empty when one of the processors has none.
std::vector<PiecewiseLinear> recorded_functions(const LoadDescription& load);

}  // namespace apportion
