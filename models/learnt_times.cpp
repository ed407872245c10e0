// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/learnt_times.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/speed_points.hpp"

namespace apportion {

namespace {

constexpr double kContradiction = 1.5;   // ratio of times that noise does not explain, as in partial_model.cpp
constexpr double kAlike = 1.25;          // ratio of sizes whose times per unit compare, as in plb_hec_models.cpp
constexpr double kLeastExcess = 0.01;    // of the longest block: what is less makes no plan worse
constexpr std::int64_t kLatest = 4;      // blocks of one size that its mean is about
constexpr double kLongerThanMore = 1.5;  // than a block of more units: that was a spike, as in plb_hec_models.cpp

bool is_time(double seconds) { return std::isfinite(seconds) && seconds > 0; }

/// 0 is not known.
double mean(double a, double weight_a, double b, double weight_b) {
    if (!(a > 0) || !(b > 0)) return std::max(a, b);
    return (weight_a * a + weight_b * b) / (weight_a + weight_b);
}

/// The two sizes of the smallest ratio become one on the line between them.
void join_nearest_sizes(std::vector<ProfilePoint>& points) {
    const auto ratio = [&points](std::size_t k) {
        return static_cast<double>(points[k + 1].units) / static_cast<double>(points[k].units);
    };
    std::size_t nearest = 0;
    for (std::size_t k = 1; k + 1 < points.size(); ++k)
        if (ratio(k) < ratio(nearest)) nearest = k;
    ProfilePoint& left = points[nearest];
    const ProfilePoint right = points[nearest + 1];
    // The larger one tells more of large blocks, which plans are made of; the largest stays the largest.
    const bool last = nearest + 2 == points.size();
    const auto both = static_cast<double>(left.units + right.units) / 2;
    const auto units = last ? right.units : static_cast<std::int64_t>(std::llround(both));
    const double seconds = interpolated_seconds(points, static_cast<double>(units));
    left = {units,
            seconds,
            0,
            left.repetitions + right.repetitions,
            mean(left.in_s, 1, right.in_s, 1),
            mean(left.out_s, 1, right.out_s, 1)};
    points.erase(points.begin() + static_cast<std::ptrdiff_t>(nearest) + 1);
}

void merge(std::vector<ProfilePoint>& points, const ProfilePoint& block) {
    std::erase_if(points, [&](const ProfilePoint& other) {
        return other.units < block.units && other.seconds > kLongerThanMore * block.seconds;
    });
    const auto here = std::ranges::lower_bound(points, block.units, {}, &ProfilePoint::units);
    if (here == points.end() || here->units != block.units) {
        points.insert(here, {block.units, block.seconds, 0, 1, std::max(block.in_s, 0.0), std::max(block.out_s, 0.0)});
        if (points.size() > LearntTimes::kMostSizes) join_nearest_sizes(points);
        return;
    }
    const auto before = static_cast<double>(std::clamp<std::int64_t>(here->repetitions, 1, kLatest - 1));
    here->seconds = mean(here->seconds, before, block.seconds, 1);
    here->in_s = mean(here->in_s, before, block.in_s, 1);
    here->out_s = mean(here->out_s, before, block.out_s, 1);
    here->ci_s = 0;
    ++here->repetitions;
}

/// `points` become `newer`. A size that these do not reach becomes slower in proportion to their end, but not faster:
/// the end may have become slower before, too little at a time to contradict anything, and this size not. In any case
/// neither times nor speeds fall with size.
void replace(std::vector<ProfilePoint>& points, const std::vector<ProfilePoint>& newer) {
    std::vector<ProfilePoint> all = newer;
    for (const ProfilePoint& point : points) {
        const bool below = point.units < newer.front().units;
        if (!below && point.units <= newer.back().units) continue;
        const ProfilePoint& end = below ? newer.front() : newer.back();
        const double change = end.seconds / interpolated_seconds(points, static_cast<double>(end.units));
        const double proportional_s = end.seconds * static_cast<double>(point.units) / static_cast<double>(end.units);
        const auto [least_s, most_s] = std::minmax(end.seconds, proportional_s);
        const double seconds = std::clamp(point.seconds * std::max(1.0, change), least_s, most_s);
        merge(all, {point.units, seconds, 0, 1, point.in_s, point.out_s});
    }
    points = std::move(all);
}

enum class Verdict { contradicts, agrees, tells_nothing };

/// Beside a size of about as many units the times compare, and can agree; elsewhere, between a smaller and a larger
/// one, the time should lie between theirs, however wide the gap.
Verdict verdict(const std::vector<ProfilePoint>& points, const ProfilePoint& block) {
    const auto right = std::ranges::lower_bound(points, block.units, {}, &ProfilePoint::units);
    const bool has_right = right != points.end(), has_left = right != points.begin();
    const auto ratio_of_units = [&](const ProfilePoint& point) {
        return static_cast<double>(block.units) / static_cast<double>(point.units);
    };
    const auto alike = [&](const ProfilePoint& point) {
        const double ratio = ratio_of_units(point);
        return std::max(ratio, 1 / ratio) <= kAlike;
    };
    double least_s = has_left ? (right - 1)->seconds : 0;
    double most_s = has_right ? right->seconds : std::numeric_limits<double>::infinity();
    const bool comparable = (has_right && alike(*right)) || (has_left && alike(*(right - 1)));
    if (has_right && alike(*right))
        least_s = most_s = right->seconds * ratio_of_units(*right);
    else if (comparable)
        least_s = most_s = (right - 1)->seconds * ratio_of_units(*(right - 1));
    else if (!has_left || !has_right)
        return Verdict::tells_nothing;
    const double longest_s = std::max(block.seconds, points.back().seconds);
    const double excess_s = std::max(block.seconds - most_s, least_s - block.seconds);
    if (block.seconds <= kContradiction * most_s && kContradiction * block.seconds >= least_s)
        return comparable ? Verdict::agrees : Verdict::tells_nothing;
    return excess_s > kLeastExcess * longest_s ? Verdict::contradicts : Verdict::tells_nothing;
}

}  // namespace

double interpolated_seconds(const std::vector<ProfilePoint>& points, double units) {
    const auto right = std::ranges::lower_bound(
        points, units, {}, [](const ProfilePoint& point) { return static_cast<double>(point.units); });
    if (right == points.end()) return points.back().seconds * units / static_cast<double>(points.back().units);
    if (right == points.begin()) return line_below(points).seconds(units);
    const ProfilePoint& left = *(right - 1);
    const double part = (units - static_cast<double>(left.units)) / static_cast<double>(right->units - left.units);
    return left.seconds + part * (right->seconds - left.seconds);
}

LearntTimes::LearntTimes(std::vector<ProfilePoint> points) : points_(std::move(points)) {
    while (points_.size() > kMostSizes) join_nearest_sizes(points_);
}

void LearntTimes::add(const ProfilePoint& block) {
    if (block.units <= 0 || block.units > ProfilePoint::kMostUnits || !is_time(block.seconds)) return;
    const Verdict found = verdict(points_, block);
    if (found == Verdict::contradicts) {
        // What is set aside has to agree with itself, or it is as little to be believed.
        if (!aside_.empty() && verdict(aside_, block) == Verdict::contradicts) {
            aside_.clear();
            contradicting_ = 0;
        }
        merge(aside_, block);
        ++contradicting_;
        return;
    }
    agreed_ = true;
    if (found == Verdict::agrees) {
        aside_.clear();
        contradicting_ = 0;
    }
    merge(aside_.empty() ? points_ : aside_, block);
}

void LearntTimes::end_process() {
    if (contradicting_ > 1 || (contradicting_ == 1 && !agreed_)) replace(points_, aside_);
    aside_.clear();
    contradicting_ = 0;
    agreed_ = false;
}

}  // namespace apportion
