// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/plb_hec/unlike_units.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "policies/shared/adaptive_factoring.hpp"

namespace apportion {

namespace {

constexpr double kContradicted = 1.5;     // that much longer or shorter than bounds admit
constexpr std::size_t kLatest = 4;        // blocks of a processor, by which it is judged
constexpr std::ptrdiff_t kToOneSide = 3;  // of these
constexpr int kAboutAsLarge = 2;          // doublings
constexpr int kContradictions = 4;        // one in so many pairs
constexpr std::size_t kBlocks = 10;       // of a chunk, and by which a processor is known, as in LB4OMP
constexpr double kOverdue = 2;            // times what blocks took on average
constexpr double kMostFixed = 0.05;       // of a block
constexpr int kLatestRuns = 4;            // that a mean is about

}  // namespace

void UnlikeUnits::Way::add(double seconds) {
    runs = std::min(runs + 1, kLatestRuns);
    mean_s += (seconds - mean_s) / runs;
}

void UnlikeUnits::begin(const LoadDescription& load, bool knew_all, bool broke_promise) {
    if (load.units != units_ || !same_processors(load.processors, processors_)) {
        *this = {};
        units_ = load.units;
        processors_ = load.processors;
        lanes_.resize(processors_.size());
    } else if (end_s_ > 0) {
        promise_broken_ = promise_broken_ || broke_promise;
        if (began_without_plan_)
            without_plan_.add(end_s_);
        else if (knew_all)
            with_plan_.add(end_s_);
    }
    granularity_ = load.granularity;
    end_s_ = 0;
    const bool both_tried = with_plan_.runs > 0 && without_plan_.runs > 0;
    const bool plan_is_better = both_tried && with_plan_.mean_s <= without_plan_.mean_s;
    const bool goes_on = promise_broken_ && (both_tried || without_plan_.runs == 0);
    found_ = began_without_plan_ = !plan_is_better && (seen_ || goes_on);
    seen_ = false;
    for (Lane& lane : lanes_) lane.begin();
}

/// To which side the blocks about as large, of each size up to a power of two the last one, are contradicted by it.
int UnlikeUnits::Lane::deviation(const Sample& sample) const {
    const int size = std::ilogb(sample.units);
    const auto end = of_size.upper_bound(size + kAboutAsLarge);
    int pairs = 0, longer = 0, shorter = 0;
    for (auto other = of_size.lower_bound(size - kAboutAsLarge); other != end; ++other) {
        const double same_s = other->second.kernel_s, in_proportion_s = same_s * sample.units / other->second.units;
        ++pairs;
        shorter += sample.kernel_s * kContradicted < std::min(same_s, in_proportion_s);
        longer += sample.kernel_s > kContradicted * std::max(same_s, in_proportion_s);
    }
    const bool enough = std::max(longer, shorter) * kContradictions > pairs;
    return !enough || longer == shorter ? 0 : longer > shorter ? 1 : -1;
}

void UnlikeUnits::finished(const FinishedBlock& block) {
    const Sample sample{static_cast<double>(block.units), std::max(block.occupied_s(), block.busy_s), block.busy_s};
    if (!(sample.units > 0) || !(sample.kernel_s > 0)) return;
    end_s_ = std::max(end_s_, block.end_s);
    Lane& lane = at(block.processor);
    // A node's times contradict each other while it learns about its own processors.
    if (!(block.half_busy_s > 0)) judge(lane, lane.deviation(sample));
    lane.add(sample);
}

void UnlikeUnits::late_block_ended(int processor, Units units, double busy_s) {
    if (units <= 0 || busy_s <= 0) return;
    Lane& lane = at(processor);
    Run& known = lane.of_run.units > 0 ? lane.of_run : lane.before;
    known = {known.blocks + 1, known.units + static_cast<double>(units), known.seconds + busy_s, known.variance};
}

void UnlikeUnits::judge(Lane& lane, int deviation) {
    if (lane.of_size.empty()) return;
    lane.deviations.push_back(deviation);
    if (lane.deviations.size() < kLatest) return;
    if (lane.deviations.size() > kLatest) lane.deviations.pop_front();
    const auto to = [&](int side) { return std::ranges::count(lane.deviations, side); };
    const std::ptrdiff_t needed = found_ ? 1 : kToOneSide;
    lane.judged = true;
    lane.contradicted = to(1) >= needed ? 1 : to(-1) >= needed ? -1 : 0;
    const auto judged = std::ranges::count_if(lanes_, &Lane::judged);
    for (const int side : {1, -1})
        seen_ = seen_ || (judged > 1 && 2 * std::ranges::count(lanes_, side, &Lane::contradicted) > judged);
    found_ = found_ || seen_;
}

void UnlikeUnits::Lane::add(const Sample& sample) {
    last.push_back(sample);
    if (last.size() > kBlocks) last.pop_front();
    of_run = {of_run.blocks + 1, of_run.units + sample.units, of_run.seconds + sample.seconds, variance()};
    of_size[std::ilogb(sample.units)] = sample;
    if (!(shortest.units > 0) || sample.seconds < shortest.seconds) shortest = sample;
    if (!(fastest.units > 0) || sample.seconds * fastest.units < fastest.seconds * sample.units) fastest = sample;
}

void UnlikeUnits::Lane::begin() {
    if (of_run.units > 0) before = of_run;
    of_run = {};
    last.clear();
    deviations.clear();
    of_size.clear();
    judged = false;
    contradicted = 0;
    lost = false;
}

double UnlikeUnits::Lane::missing() const {
    return std::min(before.blocks, static_cast<double>(kBlocks - last.size()));
}

double UnlikeUnits::Lane::mean_s() const {
    const double part = missing() > 0 ? missing() / before.blocks : 0;
    double units = part * before.units, seconds = part * before.seconds;
    for (const Sample& sample : last) units += sample.units, seconds += sample.seconds;
    return seconds / units;
}

double UnlikeUnits::Lane::variance() const {
    const double unit_s = mean_s(), blocks = missing() + static_cast<double>(last.size());
    double sum = missing() * before.variance;
    for (const Sample& sample : last) sum += std::pow(sample.seconds - unit_s * sample.units, 2) / sample.units;
    return blocks > 1 ? sum / (blocks - 1) : 0;
}

/// What the shortest block took that its units do not, at the highest speed seen.
double UnlikeUnits::Lane::fixed_s() const {
    return std::max(0.0, shortest.seconds - shortest.units * fastest.seconds / fastest.units);
}

/// Whether its block takes so much longer than on average that it may never end.
bool UnlikeUnits::overdue(int processor, double now_s, const Progress& progress) const {
    const auto blocks = progress.in_flight(processor);
    return !blocks.empty() && blocks.front().begun_s >= 0 &&
           now_s - blocks.front().begun_s >
               kOverdue * at(processor).mean_s() * static_cast<double>(blocks.front().units);
}

/// All that are measured but one, and but those that are overdue where `progress` is given.
UnlikeUnits::Together UnlikeUnits::together(int without, double now_s, const Progress* progress) const {
    Together all;
    for (int p = 0; p < static_cast<int>(lanes_.size()); ++p) {
        const Lane& lane = at(p);
        if (p == without || lane.lost || !lane.measured() || (progress && overdue(p, now_s, *progress))) continue;
        const double unit_s = lane.mean_s();
        all.units_per_s += 1 / unit_s;
        all.variance_s += lane.variance() / unit_s;
        all.fastest_s = std::min(all.fastest_s, unit_s);
    }
    return all;
}

bool UnlikeUnits::outlasts_others(int processor, double seconds, double now_s, const Progress& progress) const {
    const Together others = together(processor, now_s, &progress);
    const auto left = static_cast<double>(progress.remaining());
    return seconds > std::max(left / others.units_per_s, static_cast<double>(granularity_) * others.fastest_s);
}

Units UnlikeUnits::next_block(int processor, double now_s, const Progress& progress) const {
    const Lane& own = at(processor);
    const double unit_s = own.mean_s();
    if (outlasts_others(processor, static_cast<double>(granularity_) * unit_s, now_s, progress)) return 0;
    const Together others = together(processor, now_s, nullptr);
    const double share_s = static_cast<double>(progress.remaining()) / (others.units_per_s + 1 / unit_s);
    const double variance_s = others.variance_s + own.variance() / unit_s;
    const double chunk_s = std::max(likely_to_finish_s(share_s, variance_s), share_s / kBlocks);
    // In another run nothing is known of the units that come first.
    const double shortest_s = own.last.empty() ? 0 : chunk_s / kBlocks;
    const double block_s = std::clamp(own.fixed_s() / kMostFixed, shortest_s, chunk_s);
    return std::min(progress.remaining(), round_to_granularity(block_s / unit_s, granularity_));
}

}  // namespace apportion
