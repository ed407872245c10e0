// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta_deficits.hpp"

#include <algorithm>

namespace apportion {

// Sums of largest sizes only fall with tau, by no more than the slack at the tau given here. So sizes further than that
// below the largest are of no use for this tau, nor for a smaller one.
void Deficits::gather(Units units, double tau) {
    units_ = units;
    lanes_.resize(envelopes_.processors());
    Units slack = -units;
    std::size_t most = 0;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        const std::size_t end = envelopes_.count_within(i, tau);
        const Units largest = end == 0 ? 0 : envelopes_.sizes(i).size(end - 1);
        lanes_[i] = {0, end, end, largest};
        slack += largest * envelopes_.copies();
    }
    for (Lane& lane : lanes_) {
        const SizeTimes& sizes = envelopes_.sizes(static_cast<std::size_t>(&lane - lanes_.data()));
        lane.begin = lane.end == 0 ? 0 : std::min(sizes.count_up_to(lane.largest - slack - 1), lane.end);
        most += lane.end - lane.begin;
    }
    Point* const points = point_scratch_.at_least(most + 1);
    std::size_t count = 0;
    for (Lane& lane : lanes_) {
        const SizeTimes& sizes = envelopes_.sizes(static_cast<std::size_t>(&lane - lanes_.data()));
        const std::size_t begin = count;
        for (std::size_t k = lane.begin; k < lane.end; ++k) {
            points[count] = {sizes.size(k), sizes.seconds(k)};
            count += sizes.seconds(k) <= tau;  // without a branch that nobody can predict
        }
        lane.begin = begin;
        lane.end = lane.end_within = count;
    }
    points_ = {points, count};
}

void Deficits::narrow(double tau) {
    std::size_t count = 0;
    for (Lane& lane : lanes_) {
        const std::size_t begin = count;
        for (std::size_t k = lane.begin; k < lane.end; ++k) {
            points_[count] = points_[k];
            count += points_[k].seconds <= tau;
        }
        lane.begin = begin;
        lane.end = lane.end_within = count;
    }
    points_ = points_.first(count);
}

void Deficits::fix(std::size_t processor, Units share) {
    units_ -= share;
    Lane& lane = lanes_[processor];
    lane = {lane.begin, lane.begin, lane.begin, 0};
}

// Finds the largest sizes within tau; returns the slack.
Units Deficits::find_largest(double tau) {
    Units slack = -units_;
    for (Lane& lane : lanes_) {
        lane.end_within = lane.end;
        while (lane.end_within > lane.begin && points_[lane.end_within - 1].seconds > tau) --lane.end_within;
        lane.largest = lane.end_within == lane.begin ? 0 : points_[lane.end_within - 1].size;
        slack += lane.largest * envelopes_.copies();
    }
    return slack;
}

bool Deficits::choose(double tau, std::vector<Units>* choice) {
    const Units slack = find_largest(tau);
    if (slack < 0) return false;
    if (slack < 64) return choose_small(tau, slack, choice);
    const bool from_zero = units_ < slack;
    Units* numbers = numbers_.at_least(points_.size() + 3 * lanes_.size());
    sets_.clear();
    for (const Lane& lane : lanes_) {
        const NumberSet set = from_zero ? list_sizes(lane, tau, numbers) : list_deficits(lane, tau, slack, numbers);
        sets_.insert(sets_.end(), static_cast<std::size_t>(envelopes_.copies()), set);
        numbers += set.size() + 1;  // no set is at the address of another
    }
    return choose_sum(sets_, from_zero ? units_ : slack, choice);
}

// 0 and the deficits up to the slack, ascending.
NumberSet Deficits::list_deficits(const Lane& lane, double tau, Units slack, Units* numbers) const {
    std::size_t count = 0;
    numbers[count++] = 0;
    for (std::size_t k = lane.end_within; k > lane.begin + 1; --k) {
        const Units deficit = lane.largest - points_[k - 2].size;
        if (deficit > slack) break;
        numbers[count] = deficit;
        count += points_[k - 2].seconds <= tau;
    }
    if (lane.largest > 0 && lane.largest <= slack) numbers[count++] = lane.largest;
    return {numbers, count};
}

// 0 and the sizes up to n, ascending.
NumberSet Deficits::list_sizes(const Lane& lane, double tau, Units* numbers) const {
    std::size_t count = 0;
    numbers[count++] = 0;
    for (std::size_t k = lane.begin; k < lane.end_within && points_[k].size <= units_; ++k) {
        numbers[count] = points_[k].size;
        count += points_[k].seconds <= tau;
    }
    return {numbers, count};
}

bool Deficits::choose_small(double tau, Units slack, std::vector<Units>* choice) {
    masks_.clear();
    for (const Lane& lane : lanes_) {
        std::uint64_t mask = 1;
        for (std::size_t k = lane.end_within; k-- > lane.begin;) {
            const Units deficit = lane.largest - points_[k].size;
            if (deficit > slack) break;
            mask |= std::uint64_t{points_[k].seconds <= tau} << deficit;
        }
        if (lane.largest <= slack) mask |= std::uint64_t{1} << lane.largest;
        masks_.insert(masks_.end(), static_cast<std::size_t>(envelopes_.copies()), mask);
    }
    return choose_sum(masks_, static_cast<int>(slack), choice);
}

std::vector<Units> Deficits::shares(double tau) {
    std::vector<Units> result;
    choose(tau, &result);
    const Units slack = find_largest(tau);
    if (slack >= 64 && units_ < slack) return result;
    const auto copies = static_cast<std::size_t>(envelopes_.copies());
    for (std::size_t j = 0; j < result.size(); ++j) result[j] = lanes_[j / copies].largest - result[j];
    return result;
}

void Deficits::collect_times(double above, std::vector<double>& times) const {
    for (const Lane& lane : lanes_)
        for (const Point& point : points_.subspan(lane.begin, lane.end - lane.begin))
            if (point.seconds > above) times.push_back(point.seconds);
}

}  // namespace apportion
