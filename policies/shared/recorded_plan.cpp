// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/recorded_plan.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

#include "policies/engine/device_memory.hpp"
#include "policies/shared/block_costs.hpp"

namespace apportion {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kShareSteps = 32;  // of a sparse processor, besides: what they cut off is 2 % at most

/// Between neighbouring sizes of a processor: the one that covers most of their range; 0: it has one size.
Units step_between(const std::vector<ProfilePoint>& points) {
    std::map<Units, Units> covered;
    for (std::size_t k = 1; k < points.size(); ++k) {
        const Units step = points[k].units - points[k - 1].units;
        covered[step] += step;
    }
    const auto most = std::ranges::max_element(covered, {}, [](const auto& step) { return step.second; });
    return most == covered.end() ? 0 : most->first;
}

double highest_speed_of(const ProcessorProfile& processor) {
    double speed = 0;
    for (const ProfilePoint& point : processor.points)
        speed = std::max(speed, static_cast<double>(point.units) / point.seconds);
    return speed;
}

/// Mean relative error of interpolating a recorded time from its neighbours: of those between the multiples of the
/// step, if there are any.
double interpolation_error(const std::vector<ProfilePoint>& points, Units step) {
    const auto is_multiple = [&](const ProfilePoint& point) { return point.units % step == 0; };
    const bool all = std::ranges::all_of(points, is_multiple);
    double sum = 0;
    int count = 0;
    for (std::size_t k = 1; k + 1 < points.size(); ++k) {
        if (!all && is_multiple(points[k])) continue;
        const ProfilePoint &left = points[k - 1], &right = points[k + 1];
        const double part =
            static_cast<double>(points[k].units - left.units) / static_cast<double>(right.units - left.units);
        sum += std::abs(std::lerp(left.seconds, right.seconds, part) / points[k].seconds - 1);
        ++count;
    }
    return count > 0 ? sum / count : 0;
}

/// Of which a fine processor's blocks are multiples; 0: it is sparse. `share`: units that it would have at the highest
/// speeds.
Units fine_step(const LoadDescription& load, const std::vector<ProfilePoint>& points, double share) {
    const Units step = step_between(points);
    if (step == 0 || step > load.units) return 0;
    const auto multiples =
        std::ranges::count_if(points, [&](const ProfilePoint& point) { return point.units % step == 0; });
    if (2 * multiples < points.back().units / step) return 0;
    const Units factor = step / std::gcd(step, load.granularity);
    if (factor > load.units / load.granularity) return 0;
    const Units block_step = factor * load.granularity;
    const bool pays = block_step == load.granularity ||
                      static_cast<double>(block_step) < 2 * interpolation_error(points, step) * share;
    return pays && load.units / block_step <= 8 * kMostSteps ? block_step : 0;
}

/// Of `number`, so that the quotient is at least `least`.
Units largest_divisor(Units number, Units least) {
    for (Units divisor = number / std::max(least, Units{1}); divisor > 1; --divisor)
        if (number % divisor == 0) return divisor;
    return 1;
}

}  // namespace

RecordedSizes interpolated_sizes(const LoadDescription& load) {
    RecordedSizes sizes;
    for (const ProcessorProfile& processor : load.recorded.processors) {
        std::vector<Units> its, all;
        for (const ProfilePoint& point : processor.points) its.push_back(point.units);
        std::ranges::set_union(sizes.all, its, std::back_inserter(all));
        sizes.all = std::move(all);
    }
    sizes.steps.assign(load.recorded.processors.size(), load.granularity);
    sizes.fine.assign(load.recorded.processors.size(), false);
    sizes.step = sizes.granularity = load.granularity;
    sizes.most = load.units;
    return sizes;
}

RecordedSizes recorded_sizes(const LoadDescription& load) {
    RecordedSizes sizes = interpolated_sizes(load);
    const std::vector<ProcessorProfile>& processors = load.recorded.processors;
    double speed = 0, least_share = static_cast<double>(load.units);
    for (const ProcessorProfile& processor : processors) speed += highest_speed_of(processor);
    Units common = 0;
    for (std::size_t p = 0; p < processors.size(); ++p) {
        const double share = static_cast<double>(load.units) * highest_speed_of(processors[p]) / speed;
        const Units step = fine_step(load, processors[p].points, share);
        if (step == 0) {
            least_share = std::min(least_share, share);
            continue;
        }
        sizes.steps[p] = step;
        sizes.fine[p] = true;
        common = std::gcd(common, step);
    }
    if (common == 0) return sizes;
    sizes.step = sizes.common = common;
    if (std::ranges::find(sizes.fine, false) == sizes.fine.end()) return sizes;
    // Shares of sparse ones are planned in smaller steps, where that can be.
    sizes.step /= largest_divisor(common / load.granularity, quotient_up(load.units / load.granularity, kMostSteps));
    const bool too_coarse =
        kShareSteps * static_cast<double>(sizes.step) > least_share && sizes.step > 2 * load.units / kMostSteps;
    return too_coarse ? interpolated_sizes(load) : sizes;
}

ShareTimes::ShareTimes(const LoadDescription& load, std::size_t p, const RecordedSizes& sizes)
    : step_(sizes.steps[p]),
      exact_(sizes.fine[p]),
      granularity_(sizes.granularity),
      own_memory_(load.processors[p].own_memory),
      memory_(load.processors[p].memory_units),
      most_(sizes.most) {
    if (p < load.links.size()) link_ = load.links[p];
    std::vector<Point> points;
    auto size = sizes.all.begin();
    for (const ProfilePoint& point : load.recorded.processors[p].points) {
        const auto here = std::lower_bound(size, sizes.all.end(), point.units);
        points.push_back({point.units, point.seconds, !points.empty() && here != size});
        size = here + 1;
    }
    if (!points.empty()) {
        largest_ = points.back().units;
        below_ = line_below(points);
    }
    if (largest_ >= most_) largest_ = up_to_multiple(most_, sizes.granularity);
    points_ = std::make_shared<const std::vector<Point>>(std::move(points));
    for (const bool overlapped : {false, true}) fastest_[overlapped] = fastest_size(overlapped);
}

ShareTimes ShareTimes::without_holes() const {
    ShareTimes times = *this;
    times.exact_ = false;
    times.step_ = granularity_;
    std::vector<Point> points = *points_;
    for (Point& point : points) point.hole_before = false;
    times.points_ = std::make_shared<const std::vector<Point>>(std::move(points));
    return times;
}

double ShareTimes::kernel_seconds(Units units) const {
    if (units <= 0) return 0;
    units = std::min(units, most_);
    const std::vector<Point>& points = *points_;
    const auto right = std::ranges::lower_bound(points, units, {}, &Point::units);
    if (right == points.end()) return kNever;
    if (right->units == units) return right->seconds;
    if (exact_ || right->hole_before) return kNever;
    if (right == points.begin()) return below_.seconds(static_cast<double>(units));
    const Point& left = *(right - 1);
    return left.seconds + (right->seconds - left.seconds) * static_cast<double>(units - left.units) /
                              static_cast<double>(right->units - left.units);
}

double ShareTimes::step_s(Units units, double kernel_s, bool overlapped) const {
    return overlapped ? std::max(kernel_s, streaming_s(units)) : in_s(units) + held_up_s(units) + kernel_s;
}

Units ShareTimes::largest(bool overlapped) const {
    if (memory_ == kNoLimit || !overlapped) return std::min(memory_, largest_);
    // A block of half the memory takes two whole buffers of it (engine/device_memory.hpp), or the next one has less.
    const Units buffer = std::max(memory_ / DeviceMemory::kBuffers / granularity_, Units{1}) * granularity_;
    return std::min({memory_ / 2, DeviceMemory::kBuffers / 2 * buffer, largest_});
}

double ShareTimes::highest_speed() const {
    double speed = 0;
    for (const Point& point : *points_) speed = std::max(speed, static_cast<double>(point.units) / point.seconds);
    return speed;
}

/// The recorded size at which a share of many blocks has the highest speed; 0: none fits.
Units ShareTimes::fastest_size(bool overlapped) const {
    Units fastest = 0;
    double speed = 0;
    for (const Point& point : *points_) {
        if (point.units > largest(overlapped)) break;
        const double seconds = step_s(point.units, point.seconds, overlapped);
        if (static_cast<double>(point.units) / seconds > speed) {
            speed = static_cast<double>(point.units) / seconds;
            fastest = point.units;
        }
    }
    return fastest;
}

ShareRun ShareTimes::run(Units share, Units count, bool overlapped) const {
    if (exact_ && share % step_ != 0 && share < most_) return {};
    const Units steps = quotient_up(share, step_);
    const Units small = steps / count * step_, more = steps % count;  // `more` blocks have one step more
    if (small == 0 || small + (more > 0 ? step_ : 0) > largest(overlapped)) return {};
    ShareRun result{0, 0, count, overlapped};
    auto add = [&](Units units, Units times) {
        const double kernel_s = kernel_seconds(units);
        result.kernel_s += static_cast<double>(times) * kernel_s;
        result.seconds += static_cast<double>(times) * step_s(units, kernel_s, overlapped);
        return kernel_s;
    };
    Units first = small;
    double first_s = add(small, count - more);
    if (more > 0) {
        first = small + step_;
        first_s = add(first, more);
    }
    if (overlapped) {
        // The first block's transfer and kernel follow each other; but where directions hold each other up, the link is
        // busy meanwhile with the second one's.
        const double hidden_s = count > 1 ? std::min(held_up_s(first), first_s) : 0;
        result.seconds = std::max(result.kernel_s, result.seconds - step_s(first, first_s, true) + first_s - hidden_s);
        result.seconds += in_s(first);
    } else {
        result.seconds -= held_up_s(first);
    }
    result.seconds += out_s(small);
    return result.seconds < kNever ? result : ShareRun{};
}

void ShareTimes::consider(ShareRun& best, double& best_cost, Units share, Units count, bool overlapped) const {
    const ShareRun other = run(share, count, overlapped);
    const double cost = other.seconds + static_cast<double>(count) * kBlockOverhead_s;
    if (!(cost < best_cost)) return;
    best = other;
    best_cost = cost;
}

void ShareTimes::consider_all(ShareRun& best, double& best_cost, Units share, bool overlapped) const {
    const Units most_steps = largest(overlapped) / step_, steps = quotient_up(share, step_);
    if (most_steps <= 0) return;
    const Units fewest = quotient_up(steps, most_steps);
    const Units fast = fastest_[overlapped] > 0 ? share / fastest_[overlapped] : 0;
    // What is smaller than any recorded block is only supposed to take so long.
    const Units most = std::min(steps, share / points_->front().units);
    consider(best, best_cost, share, fewest, overlapped);
    const auto consider_too = [&](Units count) {
        if (count > fewest && count <= most) consider(best, best_cost, share, count, overlapped);
    };
    for (const Units more : {1, 2}) consider_too(fewest + more);
    for (const Units times : {2, 4, 8})
        if (fewest <= most / times) consider_too(times * fewest);
    for (const Units more : {0, 1}) consider_too(fast + more);
}

ShareRun ShareTimes::best(Units share) const {
    if (share <= 0) return {0, 0, 0, false};
    ShareRun best;
    double best_cost = kNever;
    consider_all(best, best_cost, share, false);
    if (own_memory_) consider_all(best, best_cost, share, true);
    return best;
}

BlockRuns ShareTimes::blocks(Units share) const {
    const ShareRun way = best(share);
    if (way.blocks == 0) return {};
    const Units steps = quotient_up(share, step_), missing = steps * step_ - share;  // in the last block
    const Units small = steps / way.blocks * step_, more = steps % way.blocks;
    const Units whole = way.blocks - more - (missing > 0 ? 1 : 0);
    return {{small + step_, more}, {small, whole}, {small - missing, missing > 0 ? 1 : 0}};
}

bool ShareTimes::same_as(const ShareTimes& other) const {
    return own_memory_ == other.own_memory_ && memory_ == other.memory_ && link_ == other.link_ &&
           step_ == other.step_ && *points_ == *other.points_;
}

ShareRun run_of(const ShareTimes& times, Units share) {
    const ShareRun best = times.best(share);
    return best.blocks > 0 || share <= 0 ? best : times.without_holes().best(share);
}

BlockRuns blocks_of(const ShareTimes& times, Units share) {
    BlockRuns blocks = times.blocks(share);
    if (blocks.empty()) blocks = times.without_holes().blocks(share);
    return blocks.empty() ? BlockRuns{{share, 1}} : blocks;
}

}  // namespace apportion
