// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/plb_hec/unlike_units.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "policies/shared/adaptive_factoring.hpp"
#include "policies/shared/block_costs.hpp"

namespace apportion {

namespace {

constexpr double kContradicted = 1.5;   // that much longer or shorter than bounds admit
constexpr std::size_t kLatest = 4;      // blocks of a processor, by which it is judged
constexpr std::size_t kToOneSide = 3;   // of these
constexpr std::size_t kFewest = 8;      // of all processors
constexpr int kAboutAsLarge = 2;        // doublings
constexpr int kContradictions = 4;      // one in so many pairs
constexpr std::size_t kBlocks = 10;     // of a chunk, and by which a processor is known, as in LB4OMP
constexpr double kOverdue = 2;          // times what blocks took on average: they may never end
constexpr double kMuchFaster = 2;       // than who had better compute nothing
constexpr double kMostFixed = 0.05;     // of a block
constexpr double kPremium = 0.01;       // of a first run, what it costs at most that dear units are in several blocks
constexpr double kLeastFixed_s = 5e-6;  // of a block, for the runtime
constexpr double kMostParts = 20;       // of a share
constexpr double kBarely = 1 - 1e-9;    // who ends at the same time does not end before

}  // namespace

void UnlikeUnits::begin(const LoadDescription& load, const std::function<double(int, Units)>& by_size_s) {
    if (load.units != units_ || !same_processors(load.processors, processors_)) {
        *this = {};
        units_ = load.units;
        processors_ = load.processors;
        lanes_.resize(processors_.size());
        costs_.reset(load);
        found_ = costs_.begin_as_learnt(load.learnt_costs);
        for (std::size_t p = 0; found_ && p < lanes_.size(); ++p) lanes_[p].before = load.learnt_costs.processors[p];
    } else {
        UnitCosts concluded = costs_;
        found_ = concluded.conclude(found_, by_size_s);
        for (std::size_t p = 0; p < lanes_.size(); ++p) lanes_[p].of_run = run_of(p, concluded);
        costs_ = std::move(concluded);
    }
    granularity_ = load.granularity;
    done_ = 0;
    of_kind_.clear();
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
        lanes_[p].begin();
        of_kind_[processors_[p].kind].add(1, lanes_[p].before);
    }
}

/// By what its units cost, if that is known only now.
BlockSums UnlikeUnits::run_of(std::size_t processor, const UnitCosts& concluded) const {
    const Lane& lane = lanes_[processor];
    BlockSums run = lane.of_run;
    if (!costs_.known() && concluded.known()) run.work += concluded.of_processor(processor).work - lane.placed_units;
    return run;
}

/// As the next run of this process would take it. One disturbed run may look so: adaptive factoring then costs the next
/// process little, while unlike units that are taken for alike ones cost it much.
LearntUnitCosts UnlikeUnits::learnt(const std::function<double(int, Units)>& by_size_s) const {
    UnitCosts costs = costs_;
    if (!costs.conclude(found_, by_size_s)) return {units_, {}, {}};
    LearntUnitCosts learnt = costs.learnt();
    for (std::size_t p = 0; p < lanes_.size(); ++p)
        learnt.processors.push_back(lanes_[p].of_run.work > 0 ? run_of(p, costs) : lanes_[p].before);
    return learnt;
}

/// To which side the blocks about as large, of each size up to a power of two the last one, are contradicted by it.
int UnlikeUnits::Lane::deviation(const Sample& sample) const {
    const int size = std::ilogb(sample.units);
    const auto end = of_size.upper_bound(size + kAboutAsLarge);
    int pairs = 0, longer = 0, shorter = 0;
    for (auto other = of_size.lower_bound(size - kAboutAsLarge); other != end; ++other) {
        const double same_s = other->second.kernel_s, in_proportion_s = same_s * sample.units / other->second.units;
        ++pairs;
        shorter += !other->second.warms_up && sample.kernel_s * kContradicted < std::min(same_s, in_proportion_s);
        longer += sample.kernel_s > kContradicted * std::max(same_s, in_proportion_s);
    }
    const bool enough = std::max(longer, shorter) * kContradictions > pairs;
    return !enough || longer == shorter ? 0 : longer > shorter ? 1 : -1;
}

bool UnlikeUnits::finished(const FinishedBlock& block, double promised_s) {
    Lane& lane = at(block.processor);
    const Sample sample{.work = costs_.work(block.first, block.units),
                        .seconds = std::max(block.occupied_s(), block.busy_s),
                        .units = static_cast<double>(block.units),
                        .kernel_s = block.busy_s,
                        .warms_up = lane.of_size.empty()};
    if (!(sample.units > 0) || !(sample.kernel_s > 0)) return false;
    bool tries_again = false;
    done_ += sample.work;
    // A node's times contradict each other while it learns about its own processors.
    if (!(block.half_busy_s > 0)) {
        costs_.finished(block.processor, block.first, block.units, block.busy_s, promised_s);
        lane.placed_units += sample.units;
        if (!lane.of_size.empty()) lane.deviations.push_back(lane.deviation(sample));
        if (lane.deviations.size() > kLatest) lane.deviations.pop_front();
        judge();
        tries_again = lane.add_trial(sample);
        judge_trials();
    }
    lane.add(sample);
    of_kind_[kind(block.processor)].add(1, {1, sample.work, sample.seconds});
    lane.variance_of_run = lane.variance(unit_s(block.processor));
    return tries_again;
}

void UnlikeUnits::late_block_ended(int processor, Units units, double busy_s) {
    if (units <= 0 || busy_s <= 0) return;
    Lane& lane = at(processor);
    (lane.of_run.work > 0 ? lane.of_run : lane.before).add(1, {1, static_cast<double>(units), busy_s});
}

double UnlikeUnits::insured(int processor, double block, double fixed_s,
                            const std::function<double(int, Units)>& by_size_s) const {
    const Units units = std::max(granularity_, static_cast<Units>(block));
    double runs_per_s = 0;  // of all, at their speeds with such a block
    for (int p = 0; p < static_cast<int>(lanes_.size()); ++p)
        if (const double its_s = by_size_s(p, units); its_s > 0 && !at(p).lost)
            runs_per_s += static_cast<double>(units) / static_cast<double>(units_) / its_s;
    const double run_s = 1 / runs_per_s, share = run_s * static_cast<double>(units) / by_size_s(processor, units);
    return share / std::clamp(kPremium * run_s / (kLeastFixed_s + fixed_s), 1.0, kMostParts);
}

bool UnlikeUnits::Lane::deviates(int side) const {
    const auto to_side = static_cast<std::size_t>(std::ranges::count(deviations, side));
    return kLatest * to_side >= kToOneSide * deviations.size();
}

void UnlikeUnits::judge() {
    std::size_t blocks = 0, judged = 0, longer = 0, shorter = 0;
    for (const Lane& lane : lanes_) {
        if (lane.deviations.empty()) continue;
        blocks += lane.deviations.size();
        ++judged;
        longer += lane.deviates(1);
        shorter += lane.deviates(-1);
    }
    if (judged > 1 && blocks >= kFewest && 2 * std::max(longer, shorter) > judged) found_ = true;
}

bool UnlikeUnits::Lane::add_trial(const Sample& sample) {
    if (std::exchange(on_trial, false)) {
        trial = sample;
        return ++trials == 2 && std::isfinite(larger_s);
    }
    if (trials > 0 && sample.units > trial.units) larger_s = std::min(larger_s, sample.kernel_s);
    return false;
}

bool UnlikeUnits::Lane::trial_exceeds_larger() const { return trial.kernel_s > kContradicted * larger_s; }

/// The last units are dear where most of those say so that tried twice, two at least if there are two cores.
void UnlikeUnits::judge_trials() {
    const auto tried_twice = std::ranges::count(lanes_, 2, &Lane::trials);
    const auto dear =
        std::ranges::count_if(lanes_, [](const Lane& lane) { return lane.trials == 2 && lane.trial_exceeds_larger(); });
    const auto cores = std::ranges::count(processors_, false, &Processor::own_memory);
    if (2 * dear > tried_twice && dear >= std::min<std::ptrdiff_t>(2, cores)) found_ = true;
}

void UnlikeUnits::Lane::add(const Sample& sample) {
    last.push_back(sample);
    if (last.size() > kBlocks) last.pop_front();
    of_last = {};
    for (const Sample& its : last) of_last.add(1, {1, its.work, its.seconds});
    of_run.add(1, {1, sample.work, sample.seconds});
    of_size[std::ilogb(sample.units)] = sample;
    if (!(shortest.work > 0) || sample.seconds < shortest.seconds) shortest = sample;
    if (!(fastest.work > 0) || sample.seconds * fastest.work < fastest.seconds * sample.work) fastest = sample;
}

void UnlikeUnits::Lane::begin() {
    if (of_run.work > 0) before = of_run, variance_before = variance_of_run;
    of_run = of_last = {};
    placed_units = 0;
    last.clear();
    deviations.clear();
    of_size.clear();
    lost = on_trial = false;
    trials = 0;
    larger_s = std::numeric_limits<double>::infinity();
}

double UnlikeUnits::Lane::missing() const {
    return std::min(before.blocks, static_cast<double>(kBlocks - last.size()));
}

/// By its last blocks, where these are few by those of the run before, and then by those of its kind; 0: nothing is
/// known.
double UnlikeUnits::unit_s(int processor) const {
    const Lane& lane = at(processor);
    BlockSums sums = lane.of_last;
    sums.add_blocks(lane.missing(), lane.before);
    if (const auto its = of_kind_.find(kind(processor)); its != of_kind_.end())
        sums.add_blocks(static_cast<double>(kBlocks) - sums.blocks, its->second);
    return sums.unit_s();
}

double UnlikeUnits::Lane::variance(double unit_s) const {
    const double blocks = missing() + static_cast<double>(last.size());
    double sum = missing() * variance_before;
    for (const Sample& sample : last) sum += std::pow(sample.seconds - unit_s * sample.work, 2) / sample.work;
    return blocks > 1 ? sum / (blocks - 1) : 0;
}

/// What the shortest block took that its units do not, at the highest speed seen.
double UnlikeUnits::Lane::fixed_s() const {
    return std::max(0.0, shortest.seconds - shortest.work * fastest.seconds / fastest.work);
}

/// Over what its units take on average; 0: nothing computes, or nothing is known.
double UnlikeUnits::overdue(int processor, double now_s, const Progress& progress) const {
    const auto blocks = progress.in_flight(processor);
    if (blocks.empty() || blocks.front().begun_s < 0) return 0;
    const double should_s = unit_s(processor) * costs_.work(blocks.front().first, blocks.front().units);
    return should_s > 0 ? (now_s - blocks.front().begun_s) / should_s : 0;
}

bool UnlikeUnits::may_be_too_dear(double granule_s, double left_s, double now_s, const Progress& progress) const {
    double most = 0, dearer = 0;  // the second of all: one may hang
    bool others_are_faster = false;
    for (int p = 0; p < static_cast<int>(lanes_.size()); ++p) {
        const double its = overdue(p, now_s, progress), its_s = unit_s(p) * static_cast<double>(granularity_);
        dearer = std::max(dearer, std::min(its, most));
        most = std::max(most, its);
        others_are_faster = others_are_faster || (its_s > 0 && !at(p).lost && kMuchFaster * its_s < granule_s);
    }
    return others_are_faster && dearer > kOverdue && dearer * granule_s > left_s;
}

/// When it has nothing left to compute.
double UnlikeUnits::free_s(int processor, double now_s, const Progress& progress) const {
    const double unit_s = this->unit_s(processor);
    double free_s = now_s;
    for (const BlockInFlight& block : progress.in_flight(processor)) {
        const double begun_s = block.begun_s >= 0 ? block.begun_s : free_s;
        free_s = std::max(now_s, begun_s + unit_s * costs_.work(block.first, block.units));
    }
    return free_s;
}

UnlikeUnits::Rest UnlikeUnits::rest(int processor, const Progress& progress) const {
    const Units left = progress.remaining(), granule = std::min(granularity_, left);
    const Rest alike{{}, static_cast<double>(left), static_cast<double>(granule)};
    const Progress::NextUnits next = progress.next_units(processor);
    if (!costs_.known() || next.range.units == 0) return alike;
    double work = static_cast<double>(units_) - done_;
    for (int p = 0; p < static_cast<int>(lanes_.size()); ++p)
        for (const BlockInFlight& block : progress.in_flight(p)) work -= costs_.work(block.first, block.units);
    const Units its = std::min(granule, next.range.units);
    const Units first = next.from_end ? next.range.first + next.range.units - its : next.range.first;
    const double granule_work = costs_.work(first, its);
    return {next, std::max(work, granule_work), granule_work};
}

/// Where several end it at the same time, none outlasts the others, and the fastest never does: somebody takes it.
bool UnlikeUnits::outlasts_others(int processor, double unit_s, double now_s, const Progress& progress) const {
    Rest rest = this->rest(processor, progress);
    const double end_s = now_s + rest.granule * unit_s;
    for (int p = 0; p < static_cast<int>(lanes_.size()) && rest.work > 0; ++p) {
        if (p == processor || at(p).lost || !measured(p) || overdue(p, now_s, progress) > kOverdue) continue;
        const double before_s = end_s - free_s(p, now_s, progress);
        const double granules = std::floor(kBarely * before_s / (rest.granule * this->unit_s(p)));
        rest.work -= rest.granule * std::max(0.0, granules);
    }
    return rest.work <= 0;
}

Units UnlikeUnits::next_block(int processor, double now_s, const Progress& progress) const {
    const double unit_s = this->unit_s(processor);
    if (outlasts_others(processor, unit_s, now_s, progress)) return 0;
    double work_per_s = 0, variance_s = 0;
    for (int p = 0; p < static_cast<int>(lanes_.size()); ++p) {
        const double its_s = this->unit_s(p);
        if ((p != processor && at(p).lost) || !(its_s > 0)) continue;
        work_per_s += 1 / its_s;
        variance_s += at(p).variance(its_s) / its_s;
    }
    const Lane& own = at(processor);
    const Rest rest = this->rest(processor, progress);
    const double share_s = rest.work / work_per_s;
    const double chunk_s = std::max({likely_to_finish_s(share_s, variance_s), share_s / kBlocks, kBlockOverhead_s});
    // In another run nothing is known of the units that come first.
    const double shortest_s = own.last.empty() ? 0 : chunk_s / kBlocks;
    const double work = std::clamp(own.fixed_s() / kMostFixed, shortest_s, chunk_s) / unit_s;
    const auto& [range, from_end] = rest.next;
    const double units = range.units == 0 ? work
                         : from_end       ? costs_.units_before(range.first + range.units, work)
                                          : costs_.units_from(range.first, work);
    return std::min(progress.remaining(), round_to_granularity(units, granularity_));
}

}  // namespace apportion
