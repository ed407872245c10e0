// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/plb_hec/unit_costs.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace apportion {

namespace {

constexpr double kBlocks = 10;        // by which a processor is known
constexpr double kUnlike = 1.5;       // blocks took so many times more or less than their sizes say
constexpr double kEarlierRuns = 0.5;  // what an earlier run counts beside the one after it
constexpr Units kMostPieces = 1024;   // that are kept: with more blocks, a run learns by itself

/// Of differences, a weighted mean.
struct Pull {
    double pairs = 0, weight = 0, sum = 0;

    void add(double count, double difference, double its_weight) {
        pairs += count, weight += its_weight, sum += its_weight * difference;
    }
    double mean() const { return sum / weight; }
};

double error(double seconds, double expected_s) { return std::abs(std::log(seconds / expected_s)); }

}  // namespace

void UnitCosts::reset(const LoadDescription& load) {
    *this = {};
    units_ = load.units;
    open_ = load.open;
    for (const Processor& processor : load.processors) kinds_.push_back(processor.kind);
    of_processor_.resize(kinds_.size());
}

bool UnitCosts::begin_as_learnt(const LearntUnitCosts& learnt) {
    const auto& pieces = learnt.pieces;
    const bool fits = !open_ && learnt.units == units_ && learnt.processors.size() == kinds_.size() &&
                      !pieces.empty() && pieces.front().first == 0 && pieces.back().first < units_;
    if (!fits) return false;
    std::vector<Piece> all;
    for (const LearntUnitCosts::Piece& piece : pieces) {
        if (!(piece.cost > 0) || (!all.empty() && piece.first <= all.back().first)) return false;
        all.push_back({piece.first, piece.cost, 0});
    }
    set(std::move(all));
    of_processor_ = learnt.processors;
    for (std::size_t p = 0; p < kinds_.size(); ++p) of_kind_[kinds_[p]].add(1, of_processor_[p]);
    return true;
}

LearntUnitCosts UnitCosts::learnt() const {
    LearntUnitCosts learnt{units_, {}, {}};
    if (std::ssize(pieces_) <= kMostPieces) {
        for (const Piece& piece : pieces_) learnt.pieces.push_back({piece.first, piece.cost});
        return learnt;
    }
    for (Units k = 0, first = 0; k < kMostPieces; ++k) {
        const auto end = static_cast<Units>(static_cast<double>(units_) / kMostPieces * static_cast<double>(k + 1));
        learnt.pieces.push_back({first, work(first, end - first) / static_cast<double>(end - first)});
        first = end;
    }
    return learnt;
}

void UnitCosts::finished(int processor, Units first, Units units, double seconds, double promised_s) {
    if (!open_) blocks_.push_back({processor, first, units, seconds, promised_s});
}

/// Errors are weighed by time, and not squared: a first block that warms up is short, and far from what is expected.
bool UnitCosts::conclude(bool found, const std::function<double(int, Units)>& by_size_s) {
    if (blocks_.empty()) return found;
    double of_sizes = 0, of_places = 0, all_s = 0;
    for (const BlockOfRun& block : blocks_) {
        const double size_s = by_size_s(block.processor, block.units), unit_s = this->unit_s(block.processor);
        if (!(size_s > 0) || (known() && !(unit_s > 0))) continue;
        all_s += block.seconds;
        const double late = block.promised_s > 0 ? std::log(block.seconds / block.promised_s) : 0;
        of_sizes += block.seconds * std::max(late, error(block.seconds, size_s));
        if (known()) of_places += block.seconds * error(block.seconds, unit_s * work(block.first, block.units));
    }
    const bool places_tell = !known() || of_places < of_sizes;
    std::ranges::sort(blocks_, {}, &BlockOfRun::first);
    if (!known()) learn_costs(speeds_by_neighbours());
    learn_speeds();
    std::vector<double> units_s;
    for (std::size_t p = 0; p < kinds_.size(); ++p) units_s.push_back(unit_s(static_cast<int>(p)));
    learn_costs(units_s);
    blocks_.clear();
    return places_tell && (found || of_sizes > all_s * error(kUnlike, 1));
}

/// Who has had few blocks is thought to be like its kind.
double UnitCosts::unit_s(int processor) const {
    const auto p = static_cast<std::size_t>(processor);
    BlockSums sums = of_processor_[p];
    if (const auto kind = of_kind_.find(kinds_[p]); kind != of_kind_.end())
        sums.add_blocks(kBlocks - sums.blocks, kind->second);
    return sums.unit_s();
}

void UnitCosts::learn_speeds() {
    const auto age = [](BlockSums& sums) { sums.add(kEarlierRuns - 1, BlockSums(sums)); };
    std::ranges::for_each(of_processor_, age);
    for (auto& [kind, sums] : of_kind_) age(sums);
    for (const BlockOfRun& block : blocks_) {
        const auto p = static_cast<std::size_t>(block.processor);
        const BlockSums its{1, work(block.first, block.units), block.seconds};
        of_processor_[p].add(1, its);
        of_kind_[kinds_[p]].add(1, its);
    }
}

/// Seconds of a unit, alike for all processors, while nobody knows what units cost. A processor's mean tells its units
/// as well as its speed; but units beside each other cost about the same, whoever computes them.
std::vector<double> UnitCosts::speeds_by_neighbours() const {
    constexpr int kMostSweeps = 100;
    constexpr double kSettled = 1e-3;
    constexpr double kSame = 0.1;  // as close as equal; what differs by more counts by how much, not by its square
    std::vector<BlockSums> sums(kinds_.size());
    std::vector<double> logs, of_blocks;
    for (const BlockOfRun& block : blocks_) {
        const auto units = static_cast<double>(block.units);
        sums[static_cast<std::size_t>(block.processor)].add(1, {1, units, block.seconds});
        of_blocks.push_back(std::log(block.seconds / units));
    }
    for (const BlockSums& its : sums) logs.push_back(its.work > 0 ? std::log(its.unit_s()) : 0);
    double most = 1;
    for (int sweep = 0; sweep < kMostSweeps && most > kSettled; ++sweep) {
        std::vector<Pull> pulls(logs.size());
        std::map<int, Pull> kinds;
        for (std::size_t k = 1; k < blocks_.size(); ++k) {
            const auto p = static_cast<std::size_t>(blocks_[k - 1].processor);
            const auto q = static_cast<std::size_t>(blocks_[k].processor);
            if (p == q) continue;
            const double off = of_blocks[k] - of_blocks[k - 1] - (logs[q] - logs[p]);
            const double weight = std::min(blocks_[k - 1].seconds, blocks_[k].seconds) / std::max(std::abs(off), kSame);
            pulls[q].add(1, off, weight);
            pulls[p].add(1, -off, weight);
        }
        for (std::size_t p = 0; p < logs.size(); ++p)
            if (pulls[p].pairs > 0) kinds[kinds_[p]].add(pulls[p].pairs, logs[p], pulls[p].weight);
        most = 0;
        for (std::size_t p = 0; p < logs.size(); ++p) {
            Pull& its = pulls[p];
            if (!(its.pairs > 0)) continue;
            const double missing = std::max(0.0, kBlocks - its.pairs) / its.pairs;
            its.add(0, kinds[kinds_[p]].mean() - logs[p], missing * its.weight);
            const double change = its.mean() / 2;
            logs[p] += change;
            most = std::max(most, std::abs(change));
        }
    }
    for (double& its : logs) its = std::exp(its);
    return logs;
}

/// As this run and those before tell: the geometric mean of both.
void UnitCosts::learn_costs(const std::vector<double>& units_s) {
    std::vector<Piece> pieces;
    Units next = 0;
    const auto add = [&](Units first, Units units, double its_work) {
        pieces.push_back({first, its_work / static_cast<double>(units), 0});
        next = first + units;
    };
    for (const BlockOfRun& block : blocks_) {
        if (block.first < next) continue;
        if (block.first > next) add(next, block.first - next, work(next, block.first - next));
        const double now = block.seconds / units_s[static_cast<std::size_t>(block.processor)];
        const double before = work(block.first, block.units);
        add(block.first, block.units, known() ? std::sqrt(now * before) : now);
    }
    if (next < units_) add(next, units_ - next, work(next, units_ - next));
    set(std::move(pieces));
}

/// So that an average unit costs 1.
void UnitCosts::set(std::vector<Piece> pieces) {
    double sum = 0;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
        const Units end = k + 1 < pieces.size() ? pieces[k + 1].first : units_;
        pieces[k].work_before = sum;
        sum += pieces[k].cost * static_cast<double>(end - pieces[k].first);
    }
    for (Piece& piece : pieces) {
        piece.cost *= static_cast<double>(units_) / sum;
        piece.work_before *= static_cast<double>(units_) / sum;
    }
    pieces_ = std::move(pieces);
}

double UnitCosts::work_until(Units unit) const {
    const auto piece = std::prev(std::ranges::upper_bound(pieces_, unit, {}, &Piece::first));
    return piece->work_before + piece->cost * static_cast<double>(unit - piece->first);
}

double UnitCosts::work(Units first, Units units) const {
    return known() ? work_until(first + units) - work_until(first) : static_cast<double>(units);
}

/// The inverse of work_until().
double UnitCosts::unit_at(double work) const {
    const auto next = std::ranges::upper_bound(pieces_, work, {}, &Piece::work_before);
    if (next == pieces_.begin()) return 0;
    const Piece& piece = *std::prev(next);
    return std::min(static_cast<double>(units_),
                    static_cast<double>(piece.first) + (work - piece.work_before) / piece.cost);
}

double UnitCosts::units_from(Units first, double work) const {
    return known() ? unit_at(work_until(first) + work) - static_cast<double>(first) : work;
}

double UnitCosts::units_before(Units end, double work) const {
    return known() ? static_cast<double>(end) - unit_at(work_until(end) - work) : work;
}

}  // namespace apportion
