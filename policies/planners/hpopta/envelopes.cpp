// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/envelopes.hpp"

#include <Eigen/Core>
#include <bit>
#include <limits>

namespace apportion {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Eight at a time: as fast as memory delivers.
double minimum(std::span<const double> values) {
    using Eight = Eigen::Array<double, 8, 1>;
    Eight least = Eight::Constant(kInfinity);
    std::size_t k = 0;
    for (; k + 8 <= values.size(); k += 8) least = least.min(Eigen::Map<const Eight>(values.data() + k));
    double result = least.minCoeff();
    for (; k < values.size(); ++k) result = std::min(result, values[k]);
    return result;
}

// Blocks of a half to a quarter of the root of all points: about as many steps to find a block as to walk inside one.
int block_shift(std::size_t points) { return std::max(static_cast<int>(std::bit_width(points)) / 2 - 1, 2); }

}  // namespace

Envelopes::Envelopes(std::span<const SizeTimes> processors, bool for_many) : lanes_(processors.size()) {
    constexpr int kShortWalk = 5;  // 2^5 points: more blocks cost less than a longer walk, as far as they fit the cache
    Units points = 1;
    for (std::size_t i = 0; i < processors.size(); ++i) {
        Lane& lane = lanes_[i];
        const std::span<const double> seconds = processors[i].all_seconds();
        lane.sizes = processors[i];
        lane.shift = for_many ? kShortWalk : block_shift(seconds.size());
        lane.minima.resize((seconds.size() + (std::size_t{1} << lane.shift) - 1) >> lane.shift);
        std::size_t begin = 0;
        for (std::size_t b = 0; b < lane.minima.size(); begin = lane.end_of(b++))  // as memory is read fastest
            lane.minima[b] = minimum(seconds.subspan(begin, lane.end_of(b) - begin));
        for (std::size_t b = lane.minima.size(); b-- > 1;)
            lane.minima[b - 1] = std::min(lane.minima[b - 1], lane.minima[b]);
        points += static_cast<Units>(seconds.size());
        capacity_ += lane.sizes.largest();
        if (for_many) add_steps(lane, seconds.size(), 0, kInfinity);
    }
    mean_step_ = capacity_ / points + 1;
    std::ranges::sort(steps_);
    Units sum = 0;
    for (const Step& step : steps_) sums_.push_back(sum += step.units);
}

void Envelopes::seek(double tau) {
    for (Lane& lane : lanes_) {
        lane.within = count_up_to(std::span<const double>(lane.minima), tau);
        if (lane.within > 0) __builtin_prefetch(&lane.sizes.all_seconds()[lane.end_of(lane.within - 1) - 1]);
    }
}

std::size_t Envelopes::count_within(std::size_t processor, double tau) const {
    return count_in_blocks(lanes_[processor], lanes_[processor].within, tau);
}

// Points up to the last one within tau, which is in the last of `blocks` blocks.
std::size_t Envelopes::count_in_blocks(const Lane& lane, std::size_t blocks, double tau) const {
    if (blocks == 0) return 0;
    std::size_t count = lane.end_of(blocks - 1);
    while (lane.sizes.seconds(count - 1) > tau) --count;
    return count;
}

// First among the suffix minima, each round with any of those that are open, so that no input needs many rounds; then
// among the points of the one block of each processor in which its M_i(bound) must be.
double Envelopes::bound(Units units) {
    if (!sums_.empty()) {
        const auto reached = std::ranges::lower_bound(sums_, units);
        return steps_[static_cast<std::size_t>(reached - sums_.begin())].seconds;
    }
    double below = 0, above = kInfinity;  // the bound is in (below, above]
    std::size_t undecided = 0;
    for (Lane& lane : lanes_) {
        lane.first = 0;
        undecided += lane.end = lane.minima.size();
    }
    while (undecided > 0) {
        const double pivot = any_undecided(undecided);
        Units sum = 0;
        for (Lane& lane : lanes_) {
            lane.within = lane.first + count_up_to(lane.open(), pivot);
            const std::size_t count = count_in_blocks(lane, lane.within, pivot);
            if (count > 0) sum += lane.sizes.size(count - 1);
        }
        const bool enough = sum >= units;
        (enough ? above : below) = pivot;
        undecided = 0;
        for (Lane& lane : lanes_) {
            (enough ? lane.end : lane.first) = lane.within;
            while (lane.end > lane.first && lane.minima[lane.end - 1] == above) --lane.end;
            undecided += lane.end - lane.first;
        }
    }
    steps_.clear();
    for (const Lane& lane : lanes_)
        if (lane.first > 0) units -= add_steps(lane, lane.end_of(lane.first - 1), below, above);
    std::ranges::sort(steps_);
    for (const Step& step : steps_)
        if ((units -= step.units) <= 0) return step.seconds;
    return above;
}

double Envelopes::any_undecided(std::size_t undecided) {
    std::size_t index = random_() % undecided;
    const Lane* lane = lanes_.data();
    for (; index >= lane->end - lane->first; ++lane) index -= lane->end - lane->first;
    return lane->minima[lane->first + index];
}

// The steps of M_i between `below` and `above` among the first `count` points, after which none takes less than
// `above`. Returns M_i(below).
Units Envelopes::add_steps(const Lane& lane, std::size_t count, double below, double above) {
    const std::size_t before = steps_.size();
    for (double least = above; count > 0; --count) {
        const double seconds = lane.sizes.seconds(count - 1);
        if (seconds >= least) continue;
        const Units size = lane.sizes.size(count - 1);
        if (steps_.size() > before) steps_.back().units -= size;
        if (seconds <= below) return size;
        steps_.push_back({seconds, size});
        least = seconds;
    }
    return 0;
}

}  // namespace apportion
