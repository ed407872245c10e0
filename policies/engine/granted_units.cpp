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

bool GrantedUnits::has(std::int64_t grant, UnitRange range) const {
    const auto its = grants_.find(range.first);
    return its != grants_.end() && its->second.id == grant;
}

std::vector<GrantedUnits::Computed> GrantedUnits::done(UnitRange range, int worker, double seconds) {
    const auto units_done = static_cast<double>(range.units);
    for (auto& [other, its] : workers_) its.of_others += units_done;
    Worker& own = workers_[worker];
    own.of_others = 0;
    own.add({units_done, seconds});

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
        computed.push_back(this->computed(its));
        grant = grants_.erase(grant);
    }
    return computed;
}

GrantedUnits::Computed GrantedUnits::computed(const Grant& grant) const {
    const auto units = static_cast<double>(grant.range.units);
    const double all_s = seconds(units), half_s = seconds(units / 2);
    return {grant.id, all_s, half_s > all_s / 2 * (1 + 1e-6) ? half_s : 0};
}

std::optional<GrantedUnits::Computed> GrantedUnits::shorten(UnitRange range, Units by) {
    const auto grant = grants_.find(range.first);
    Grant& its = grant->second;
    its.left -= by;
    its.range.units -= by;
    if (its.left > 0) return {};
    const Computed ended = computed(its);
    grants_.erase(grant);
    if (by == range.units) return {};
    return ended;
}

/// Whether the worker is not as fast as it was.
bool GrantedUnits::Worker::is_another(BlockTime block) const {
    constexpr double kTwice = 2;
    const auto [least_s, most_s] = bounds_by(last_blocks, block.units);
    return block.seconds > kTwice * most_s || kTwice * block.seconds < least_s;
}

/// Least squares, neither fixed costs nor those of a unit below zero; without sizes that differ there are no fixed
/// costs.
void GrantedUnits::Worker::add(BlockTime block) {
    if (is_another(block)) last_blocks.clear();
    last_blocks.push_back(block);
    if (last_blocks.size() > kLastBlocks) last_blocks.pop_front();
    const auto count = static_cast<double>(last_blocks.size());
    double units = 0, seconds = 0, smallest = block.units;
    largest = block.units;
    for (const BlockTime& sample : last_blocks) {
        units += sample.units, seconds += sample.seconds;
        smallest = std::min(smallest, sample.units), largest = std::max(largest, sample.units);
    }
    fixed_s = 0;
    seconds_per_unit = seconds / units;
    grow = false;
    if (largest < kClearlyLarger * smallest) return;
    double both = 0, square = 0;
    for (const BlockTime& sample : last_blocks) {
        both += (sample.units - units / count) * (sample.seconds - seconds / count);
        square += (sample.units - units / count) * (sample.units - units / count);
    }
    const double slope = std::max(0.0, both / square), at_zero_s = (seconds - slope * units) / count;
    if (at_zero_s > 0) fixed_s = at_zero_s, seconds_per_unit = slope;
    grow = slope > 0 && std::ranges::is_sorted(last_blocks, {}, &BlockTime::units);
}

double GrantedUnits::Worker::speed() const {
    const double largest_s = fixed_s + seconds_per_unit * largest;
    return largest_s > 0 ? largest / largest_s : 0;
}

double GrantedUnits::Worker::units_within(double seconds) const {
    const double largest_s = fixed_s + seconds_per_unit * largest;
    if (seconds >= largest_s && !grow) return speed() * seconds;
    return seconds > fixed_s ? (seconds - fixed_s) / seconds_per_unit : 0;
}

std::vector<const GrantedUnits::Worker*> GrantedUnits::at_work() const {
    constexpr double kTwice = 2;
    double all = 0;
    for (const auto& [worker, its] : workers_) all += its.speed();
    std::vector<const Worker*> counting;
    for (const auto& [worker, its] : workers_) {
        const double longest_s = std::ranges::max_element(its.last_blocks, {}, &BlockTime::seconds)->seconds;
        if (its.of_others <= kTwice * longest_s * (all - its.speed())) counting.push_back(&its);
    }
    return counting;
}

double GrantedUnits::seconds(double units) const {
    const std::vector<const Worker*> workers = at_work();
    double units_per_s = 0;
    for (const Worker* worker : workers) units_per_s += worker->speed();
    if (!(units_per_s > 0)) return 0;
    // In blocks as large as their largest, or in smaller ones, whose fixed costs come on top.
    double least_s = 0, most_s = 0;
    for (const Worker* worker : workers) most_s = std::max(most_s, units / units_per_s + worker->fixed_s);
    constexpr int kHalvings = 40;
    for (int i = 0; i < kHalvings; ++i) {
        const double middle_s = (least_s + most_s) / 2;
        double within = 0;
        for (const Worker* worker : workers) within += worker->units_within(middle_s);
        (within < units ? least_s : most_s) = middle_s;
    }
    return most_s;
}

}  // namespace apportion
