// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta_deficits.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

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
        lane.begin = sizes.count_below(lane.largest - slack, lane.end);
        most += lane.end - lane.begin;
        if (const TimeSortedBlocks* sorted = envelopes_.sorted(static_cast<std::size_t>(&lane - lanes_.data())))
            sorted->prefetch(lane.begin, lane.end);
    }
    Point* const points = point_scratch_.at_least(most + 1);
    std::size_t count = 0;
    for (Lane& lane : lanes_) {
        const SizeTimes sizes = envelopes_.sizes(static_cast<std::size_t>(&lane - lanes_.data()));  // kept in registers
        const std::size_t begin = count, end = lane.end;
        if (const TimeSortedBlocks* sorted = envelopes_.sorted(static_cast<std::size_t>(&lane - lanes_.data()))) {
            sorted->for_each_within(lane.begin, end, tau, [&](std::size_t k, double seconds) {
                points[count++] = {sizes.size(k), seconds};
            });
        } else {
            for (std::size_t k = lane.begin; k < end; ++k) {
                points[count] = {sizes.size(k), sizes.seconds(k)};
                count += sizes.seconds(k) <= tau;  // without a branch that nobody can predict
            }
        }
        lane.begin = begin;
        lane.end = lane.end_within = count;
    }
    points_ = {points, count};
    count_in_twos();
}

void Deficits::count_in_twos() {
    Units bits = units_;
    for (std::size_t k = 0; k < points_.size() && (bits & 1) == 0; ++k) bits |= points_[k].size;
    shift_ = std::countr_zero(static_cast<std::uint64_t>(bits));
    if (shift_ == 0) return;
    units_ >>= shift_;
    for (Point& point : points_) point.size >>= shift_;
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

std::vector<Deficits::Share> Deficits::taking(double seconds) const {
    std::vector<Share> result;
    for (std::size_t i = 0; i < lanes_.size(); ++i)
        for (const Point& point : points_.subspan(lanes_[i].begin, lanes_[i].end - lanes_[i].begin))
            if (point.seconds == seconds) result.push_back({i, point.size << shift_});
    return result;
}

std::vector<std::vector<ShareOption>> Deficits::options() const {
    std::vector<std::vector<ShareOption>> result(lanes_.size());
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        result[i].push_back({0, 0});
        for (const Point& point : points_.subspan(lanes_[i].begin, lanes_[i].end - lanes_[i].begin))
            result[i].push_back({point.size << shift_, point.seconds});
    }
    return result;
}

void Deficits::fix(const Share& share) {
    units_ -= share.units >> shift_;
    Lane& lane = lanes_[share.processor];
    lane = {lane.begin, lane.begin, lane.begin, 0};
}

// To the largest size within tau.
void Deficits::step_down(Lane& lane, double tau) const {
    while (lane.end_within > lane.begin && points_[lane.end_within - 1].seconds > tau) --lane.end_within;
    lane.largest = lane.end_within == lane.begin ? 0 : points_[lane.end_within - 1].size;
}

// Finds the largest sizes within tau, and the slack.
void Deficits::find_largest(double tau) {
    slack_ = -units_;
    for (Lane& lane : lanes_) {
        lane.end_within = lane.end;
        step_down(lane, tau);
        slack_ += lane.largest * envelopes_.copies();
    }
}

// Takes the latest of the largest sizes away as long as the rest suffices.
double Deficits::bound() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    find_largest(kInfinity);
    latest_.clear();
    latest_.reserve(lanes_.size());
    for (std::size_t i = 0; i < lanes_.size(); ++i)
        if (lanes_[i].largest > 0) latest_.emplace_back(points_[lanes_[i].end_within - 1].seconds, i);
    std::make_heap(latest_.begin(), latest_.end());
    for (;;) {
        std::pop_heap(latest_.begin(), latest_.end());
        const auto [tau, i] = latest_.back();
        Lane& lane = lanes_[i];
        const Units largest = lane.largest;
        step_down(lane, std::nextafter(tau, 0));
        slack_ -= (largest - lane.largest) * envelopes_.copies();
        if (slack_ < 0) return tau;
        latest_.pop_back();
        if (lane.largest == 0) continue;
        latest_.emplace_back(points_[lane.end_within - 1].seconds, i);
        std::push_heap(latest_.begin(), latest_.end());
    }
}

bool Deficits::choose(double tau, std::vector<Units>* choice) {
    find_largest(tau);
    if (slack_ < 0) return false;
    if (slack_ < ShortSums::kEnd) return choose_by_masks(short_sums_, tau, choice);
    if (slack_ < LongSums::kEnd) return choose_by_masks(long_sums_, tau, choice);
    Units* numbers = numbers_.at_least(points_.size() + 3 * lanes_.size());
    sets_.clear();
    for (const Lane& lane : lanes_) {
        const NumberSet set = adds_sizes() ? list_sizes(lane, tau, numbers) : list_deficits(lane, tau, numbers);
        sets_.insert(sets_.end(), static_cast<std::size_t>(envelopes_.copies()), set);
        numbers += set.size() + 1;  // no set is at the address of another
    }
    return choose_sum(sets_, adds_sizes() ? units_ : slack_, choice);
}

// 0 and the deficits up to the slack, ascending.
NumberSet Deficits::list_deficits(const Lane& lane, double tau, Units* numbers) const {
    std::size_t count = 0;
    numbers[count++] = 0;
    for (std::size_t k = lane.end_within; k > lane.begin + 1; --k) {
        const Units deficit = lane.largest - points_[k - 2].size;
        if (deficit > slack_) break;
        numbers[count] = deficit;
        count += points_[k - 2].seconds <= tau;
    }
    if (lane.largest > 0 && lane.largest <= slack_) numbers[count++] = lane.largest;
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

// The deficits up to the slack, which is below the mask's end.
template <typename Mask>
void Deficits::list_deficits(const Lane& lane, double tau, Mask& mask) const {
    for (std::size_t k = lane.end_within; k-- > lane.begin;) {
        const Units deficit = lane.largest - points_[k].size;
        if (deficit > slack_) break;
        mask.insert_if(points_[k].seconds <= tau, deficit);
    }
    if (lane.largest <= slack_) mask.insert_if(true, lane.largest);
}

template <typename Sums>
bool Deficits::choose_by_masks(Sums& sums, double tau, std::vector<Units>* choice) const {
    const auto copies = static_cast<std::size_t>(envelopes_.copies());
    sums.clear(lanes_.size() * copies);
    for (std::size_t i = 0; i < lanes_.size() && !sums.contains(slack_); ++i) {
        typename Sums::Mask mask;
        list_deficits(lanes_[i], tau, mask);
        for (std::size_t copy = 0; copy < copies && !sums.contains(slack_); ++copy) sums.add(mask);
    }
    if (!sums.contains(slack_)) return false;
    if (!choice) return true;
    choice->assign(lanes_.size() * copies, 0);
    sums.choose(slack_, *choice);
    return true;
}

std::vector<Units> Deficits::shares(double tau) {
    std::vector<Units> result;
    if (!choose(tau, &result)) return {};
    const auto copies = static_cast<std::size_t>(envelopes_.copies());
    for (std::size_t j = 0; j < result.size(); ++j) {
        if (!adds_sizes()) result[j] = lanes_[j / copies].largest - result[j];
        result[j] <<= shift_;
    }
    return result;
}

void Deficits::collect_times(double above, std::vector<double>& times) const {
    times.reserve(points_.size());
    for (const Lane& lane : lanes_)
        for (const Point& point : points_.subspan(lane.begin, lane.end - lane.begin))
            if (point.seconds > above) times.push_back(point.seconds);
}

}  // namespace apportion
