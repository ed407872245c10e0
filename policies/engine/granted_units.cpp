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
    const auto units_done = static_cast<double>(range.units);
    for (auto& [other, its] : workers_) its.of_others += units_done;
    Worker& own = workers_[worker];
    own.of_others = 0;
    own.last_blocks.push_back({units_done, seconds});
    if (own.last_blocks.size() > kLastBlocks) own.last_blocks.pop_front();

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

double GrantedUnits::Worker::speed() const {
    double units = 0, seconds = 0;
    for (const Sample& sample : last_blocks) units += sample.units, seconds += sample.seconds;
    return seconds > 0 ? units / seconds : 0;
}

double GrantedUnits::speed() const {
    constexpr double kTwice = 2;
    double all = 0, sum = 0;
    for (const auto& [worker, its] : workers_) all += its.speed();
    for (const auto& [worker, its] : workers_) {
        const double longest_s = std::ranges::max_element(its.last_blocks, {}, &Sample::seconds)->seconds;
        if (its.of_others <= kTwice * longest_s * (all - its.speed())) sum += its.speed();
    }
    return sum;
}

}  // namespace apportion
