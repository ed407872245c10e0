// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta_envelopes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace apportion {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kFewSteps = 32;  // usual between two pivots

using Lanes2 = double __attribute__((vector_size(16), aligned(8), may_alias));

Lanes2 smaller(Lanes2 a, Lanes2 b) { return a < b ? a : b; }

// Four pairs at a time: as fast as memory delivers, on every compiler that knows vector_size.
double minimum(const double* seconds, std::size_t count) {
    double result = kInfinity;
    std::size_t k = 0;
    if (count >= 8) {
        const auto pair = [&](std::size_t at) { return *reinterpret_cast<const Lanes2*>(seconds + at); };
        Lanes2 a = pair(0), b = pair(2), c = pair(4), d = pair(6);
        for (k = 8; k + 8 <= count; k += 8) {
            a = smaller(pair(k), a);
            b = smaller(pair(k + 2), b);
            c = smaller(pair(k + 4), c);
            d = smaller(pair(k + 6), d);
        }
        a = smaller(smaller(a, b), smaller(c, d));
        result = std::min(a[0], a[1]);
    }
    for (; k < count; ++k) result = std::min(result, seconds[k]);
    return result;
}

// Small enough to search inside one block, large enough to make the search among blocks short.
int block_shift(std::size_t points) { return points <= 4096 ? 4 : points <= 32768 ? 6 : 8; }

/// A step of an envelope: from `seconds` on, `units` more are within the time.
struct Step {
    double seconds;
    Units units;
};

// The smallest time at which the steps up to it add up to at least `units`, or infinity.
double select(std::vector<Step>& steps, Units units) {
    auto begin = steps.begin(), end = steps.end();
    double best = kInfinity;
    while (begin != end) {
        const auto middle = begin + (end - begin) / 2;
        std::nth_element(begin, middle, end, [](const Step& a, const Step& b) { return a.seconds < b.seconds; });
        Units below = 0;  // up to the middle, and later equals of it
        for (auto step = begin; step != middle + 1; ++step) below += step->units;
        if (below >= units) {
            best = middle->seconds;
            end = middle;
        } else {
            units -= below;
            begin = middle + 1;
        }
    }
    return best;
}

}  // namespace

Envelopes::Envelopes(std::span<const SizeTimes> processors, Units copies) : copies_(copies), lanes_(processors.size()) {
    std::size_t blocks = 0;
    for (std::size_t i = 0; i < processors.size(); ++i) {
        Lane& lane = lanes_[i];
        lane.sizes = processors[i];
        lane.points = lane.cut_points = processors[i].count();
        lane.shift = block_shift(lane.points);
        lane.first_block = blocks;
        lane.blocks = (lane.points + (std::size_t{1} << lane.shift) - 1) >> lane.shift;
        blocks += lane.blocks;
    }
    minima_.resize(blocks);
    suffix_minima_.resize(blocks);
    for (const Lane& lane : lanes_) {
        const double* const seconds = lane.sizes.all_seconds().data();
        for (std::size_t b = 0; b < lane.blocks; ++b) {
            const std::size_t begin = b << lane.shift;
            minima_[lane.first_block + b] = minimum(seconds + begin, lane.end_of(b) - begin);
        }
        compute_suffix_minima(lane);
    }
}

void Envelopes::compute_suffix_minima(const Lane& lane) {
    if (lane.blocks == 0) return;
    // the limit may cut the last block
    const std::size_t last = lane.blocks - 1, begin = last << lane.shift;
    double least = minimum(lane.sizes.all_seconds().data() + begin, lane.points - begin);
    for (std::size_t b = last;; --b) {
        suffix_minima_[lane.first_block + b] = least;
        if (b == 0) break;
        least = std::min(least, minima_[lane.first_block + b - 1]);
    }
}

void Envelopes::limit_sizes(Units limit) {
    for (Lane& lane : lanes_) lane.points = lane.sizes.count_up_to(limit);
}

// O(blocks) after another limit.
void Envelopes::cut(Lane& lane) {
    if (lane.cut_points == lane.points) return;
    lane.cut_points = lane.points;
    lane.blocks = (lane.points + (std::size_t{1} << lane.shift) - 1) >> lane.shift;
    compute_suffix_minima(lane);
}

// Points up to the last one within tau, which is in the last of `blocks` blocks.
std::size_t Envelopes::count_in_blocks(const Lane& lane, std::size_t blocks, double tau) const {
    if (blocks == 0) return 0;
    std::size_t count = lane.end_of(blocks - 1);
    while (lane.sizes.seconds(count - 1) > tau) --count;
    return count;
}

std::size_t Envelopes::count_within(std::size_t processor, double tau) {
    Lane& lane = lanes_[processor];
    if (tau == kInfinity) return lane.points;
    if (merged_ && tau == merged_bound_s_) {
        const std::size_t count = merged_->count_within_bound(processor);
        if (count <= lane.points) return count;
    }
    cut(lane);
    const double* const ends = suffix_minima(lane);
    return count_in_blocks(lane, count_up_to(std::span(ends, lane.blocks), tau), tau);
}

Units Envelopes::capacity() const {
    Units sum = 0;
    for (const Lane& lane : lanes_)
        if (lane.points > 0) sum += lane.sizes.size(lane.points - 1);
    return sum * copies_;
}

Units Envelopes::mean_step() const {
    Units points = 1;
    for (const Lane& lane : lanes_) points += static_cast<Units>(lane.points);
    return capacity() / copies_ / points + 1;
}

// A suffix minimum among the undecided. Mostly of the processor with most of them, where the units would fall if sizes
// grew evenly in its bracket; every fourth time any with the same chance, so that no input is bad for both.
double Envelopes::choose_pivot(double fraction, std::size_t left) {
    const auto width = [&](std::size_t i) { return lanes_[i].bracket.end - lanes_[i].bracket.first; };
    std::size_t lane = 0, index = 0;
    if (++pivots_ % 4 != 0) {
        for (std::size_t i = 1; i < lanes_.size(); ++i)
            if (width(i) > width(lane)) lane = i;
        index = std::min(static_cast<std::size_t>(fraction * static_cast<double>(width(lane))), width(lane) - 1);
    } else {
        random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
        index = random_ % left;
        for (; index >= width(lane); ++lane) index -= width(lane);
    }
    return suffix_minima(lanes_[lane])[lanes_[lane].bracket.first + index];
}

// Whether one copy of each processor computes `units` within the pivot; the blocks within it are known. Their ends
// decide nearly always. Notes about how many units that are.
bool Envelopes::reaches(Units units, double pivot, double& about) const {
    Units least = 0, most = 0;
    for (const Lane& lane : lanes_) {
        const std::size_t within = lane.bracket.within;
        if (within == 0) continue;
        least += lane.sizes.size((within - 1) << lane.shift);
        most += lane.sizes.size(lane.end_of(within - 1) - 1);
    }
    about = 0.5 * static_cast<double>(least + most);
    if (least >= units || most < units) return least >= units;
    Units sum = 0;
    for (const Lane& lane : lanes_) {
        const std::size_t count = count_in_blocks(lane, lane.bracket.within, pivot);
        if (count > 0) sum += lane.sizes.size(count - 1);
    }
    return sum >= units;
}

// Where no M_i exceeds the limit at the bound, it makes no difference.
bool Envelopes::merged_within_limit() const {
    for (std::size_t i = 0; i < lanes_.size(); ++i)
        if (merged_->count_within_bound(i) > lanes_[i].points) return false;
    return true;
}

double Envelopes::bound(Units units, double at_least) {
    units = (units + copies_ - 1) / copies_;  // copies are alike, so each takes an equal part of the sum
    if (merged_) {
        merged_bound_s_ = merged_->bound(units);
        if (merged_within_limit()) return merged_bound_s_;
    }
    for (Lane& lane : lanes_) cut(lane);
    return select_bound(units, at_least);
}

double Envelopes::select_bound(Units units, double at_least) {
    // the bound is in (below, above], as are the suffix minima of the undecided blocks
    double below = at_least > 0 ? std::nextafter(at_least, 0) : 0, above = kInfinity;
    std::size_t left = 0;
    double low = 0, high = 0;  // about the units within these
    for (Lane& lane : lanes_) {
        if (lane.blocks == 0) {
            lane.bracket = {};
            continue;
        }
        const double* const ends = suffix_minima(lane);
        const std::size_t first = count_up_to(std::span(ends, lane.blocks), below);
        lane.bracket = {first, lane.blocks, 0};
        left += lane.blocks - first;
        if (first > 0) low += static_cast<double>(lane.sizes.size((first - 1) << lane.shift));
        high += static_cast<double>(lane.sizes.size(lane.points - 1));
    }
    while (left > 0) {
        const double wanted = static_cast<double>(units);
        const double fraction = high > low ? std::clamp((wanted - low) / (high - low), 0.0, 1.0) : 0.5;
        const double pivot = choose_pivot(fraction, left);
        for (Lane& lane : lanes_) {
            const double* const ends = suffix_minima(lane);
            Bracket& bracket = lane.bracket;
            bracket.within = bracket.first + count_up_to(std::span(ends + bracket.first, ends + bracket.end), pivot);
        }
        double about = 0;
        const bool enough = reaches(units, pivot, about);
        (enough ? above : below) = pivot;
        (enough ? high : low) = about;
        left = 0;
        for (Lane& lane : lanes_) {
            Bracket& bracket = lane.bracket;
            if (!enough) {
                bracket.first = bracket.within;
            } else {
                // the pivot itself is decided, too
                const double* const ends = suffix_minima(lane);
                bracket.end = bracket.within;
                while (bracket.end > bracket.first && ends[bracket.end - 1] == pivot) --bracket.end;
            }
            left += bracket.end - bracket.first;
        }
    }
    return select_inside_blocks(units, below, above);
}

// Between `below` and `above` no suffix minimum of blocks lies, so M_i stays inside the last block before the bracket.
double Envelopes::select_inside_blocks(Units units, double below, double above) const {
    std::vector<Step> steps;
    steps.reserve(kFewSteps);
    for (const Lane& lane : lanes_) {
        if (lane.bracket.first == 0) continue;
        double least = above;
        bool open = false;  // the last step of `steps` is of this processor
        for (std::size_t k = lane.end_of(lane.bracket.first - 1);; --k) {
            const double seconds = lane.sizes.seconds(k - 1);
            if (seconds >= least) continue;
            const Units size = lane.sizes.size(k - 1);
            if (open) steps.back().units -= size;
            if (seconds <= below) {
                units -= size;
                break;
            }
            steps.push_back({seconds, size});
            least = seconds;
            open = true;
        }
    }
    return std::min(above, select(steps, units));
}

}  // namespace apportion
