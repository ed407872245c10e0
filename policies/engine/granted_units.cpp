// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/granted_units.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace apportion {

void GrantedUnits::add(std::int64_t grant, UnitRange range) {
    assert(range.units >= 1);
    grants_.emplace(range.first, Grant{grant, range, range.units});
}

bool GrantedUnits::has(UnitRange range) const {
    auto grant = grants_.upper_bound(range.first);
    if (grant != grants_.begin()) {
        const UnitRange before = std::prev(grant)->second.range;
        if (before.first + before.units > range.first) return true;
    }
    return grant != grants_.end() && grant->first < range.first + range.units;
}

std::vector<GrantedUnits::Computed> GrantedUnits::done(UnitRange range, int worker, double seconds) {
    auto& samples = last_blocks_[worker];
    samples.push_back({static_cast<double>(range.units), seconds});
    if (samples.size() > kLastBlocks) samples.pop_front();

    std::vector<Computed> computed;
    const Units end = range.first + range.units;
    auto grant = grants_.upper_bound(range.first);
    if (grant != grants_.begin()) --grant;
    while (grant != grants_.end() && grant->first < end) {
        Grant& its = grant->second;
        const Units from = std::max(range.first, its.range.first);
        const Units to = std::min(end, its.range.first + its.range.units);
        its.left -= std::max<Units>(0, to - from);
        if (its.left > 0) {
            ++grant;
            continue;
        }
        const double units_per_s = speed();
        computed.push_back({its.id, units_per_s > 0 ? static_cast<double>(its.range.units) / units_per_s : 0});
        grant = grants_.erase(grant);
    }
    return computed;
}

double GrantedUnits::speed() const {
    double sum = 0;
    for (const auto& [worker, samples] : last_blocks_) {
        double units = 0, seconds = 0;
        for (const Sample& sample : samples) units += sample.units, seconds += sample.seconds;
        if (seconds > 0) sum += units / seconds;
    }
    return sum;
}

}  // namespace apportion
