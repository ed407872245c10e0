// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/block_costs.hpp"

namespace apportion {

namespace {

TransferLine line_of(const LoadDescription::Way& way) { return {way.latency_s, way.seconds_per_unit}; }

}  // namespace

std::vector<LoadDescription::Link> recorded_links(const LoadDescription& load) {
    const Profiles recorded = load.recorded.learnt ? Profiles(load.learnt) : load.recorded.processors;
    std::vector<LoadDescription::Link> links = load.links;
    links.resize(load.processors.size());
    bool known = !load.links.empty();
    for (std::size_t p = 0; p < links.size() && p < recorded.size(); ++p) {
        if (!load.processors[p].own_memory) continue;
        TransferLine in = line_of(links[p].in), out = line_of(links[p].out), both = line_of(links[p].both);
        for (const ProfilePoint& point : recorded[p].points) {
            const auto units = static_cast<double>(point.units);
            if (point.in_s > 0) in.add(units, point.in_s);
            if (point.out_s > 0) out.add(units, point.out_s);
            if (point.both_s > 0) both.add(units, point.both_s);
        }
        known = known || in.samples() + out.samples() > 0;
        links[p] = link_of(in, out, both);
    }
    if (!known) links.clear();
    return links;
}

std::vector<PiecewiseLinear> recorded_functions(const LoadDescription& load) {
    std::vector<PiecewiseLinear> functions;
    for (const ProcessorProfile& profile : load.recorded.processors) {
        std::vector<BlockTime> samples;
        for (const ProfilePoint& point : profile.points)
            samples.push_back({static_cast<double>(point.units), point.seconds});
        const auto function = PiecewiseLinear::through(samples, PiecewiseLinear::Shape::as_measured);
        if (!function) return {};
        functions.push_back(*function);
    }
    if (functions.size() != load.processors.size()) functions.clear();
    return functions;
}

}  // namespace apportion
