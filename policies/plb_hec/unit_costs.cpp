// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/plb_hec/unit_costs.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "models/fitted_curve.hpp"

namespace apportion {

namespace {

constexpr double kBlocks = 10;        // by which a processor is known
constexpr double kUnlike = 1.5;       // blocks took so many times more or less than their sizes say
constexpr double kEarlierRuns = 0.5;  // what an earlier run counts beside the one after it
constexpr Units kMostPieces = 1024;   // that are kept: with more blocks, a run learns by itself

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
    found = found || of_sizes > all_s * error(kUnlike, 1) || (!known() && !getenv("NOPD") && places_differ());
    if (!known()) learn_costs(speeds_by_neighbours());
    learn_speeds();
    std::vector<double> units_s;
    for (std::size_t p = 0; p < kinds_.size(); ++p) units_s.push_back(unit_s(static_cast<int>(p)));
    learn_costs(units_s);
    blocks_.clear();
    return places_tell && found;
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

/// Of each block: the logarithm of its seconds over those that its size says, alike for all processors; of each
/// processor: that of the rest which is its own, while nobody knows what units cost. Its mean tells its units as well
/// as its speed; but units beside each other cost about the same, whoever computes them: processors differ by so much
/// that neighbouring blocks' costs differ least, in sum. Who has had less than so many `blocks` is thought to be like
/// its kind.
std::vector<double> UnitCosts::told_by_neighbours(const std::vector<double>& of_blocks, double blocks) const {
    constexpr int kMostRounds = 50;  // of weighted least squares, whose weights make squares of differences differences
    constexpr double kSettled = 1e-3;
    constexpr double kSame = 0.1;    // as close as equal; what differs by more counts by how much, not by its square
    constexpr double kMeans = 1e-9;  // what means weigh, which count where no neighbours tell
    std::map<int, std::size_t> of_kind;  // unknowns behind those of the processors
    for (const int kind : kinds_) of_kind.try_emplace(kind, kinds_.size() + of_kind.size());
    const auto unknowns = static_cast<Eigen::Index>(kinds_.size() + of_kind.size());
    Eigen::VectorXd means = Eigen::VectorXd::Zero(unknowns), seconds = means;
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
        const auto p = static_cast<std::size_t>(blocks_[k].processor);
        for (const std::size_t its : {p, of_kind.at(kinds_[p])}) {
            seconds[static_cast<Eigen::Index>(its)] += blocks_[k].seconds;
            means[static_cast<Eigen::Index>(its)] += blocks_[k].seconds * of_blocks[k];
        }
    }
    const double all_s = seconds.head(std::ssize(kinds_)).sum();
    means = means.cwiseQuotient(seconds.cwiseMax(std::numeric_limits<double>::min()));
    Eigen::VectorXd logs = means, before;
    for (int round = 0; round < kMostRounds; ++round) {
        Eigen::MatrixXd matrix = kMeans * all_s * Eigen::MatrixXd::Identity(unknowns, unknowns);
        Eigen::VectorXd right = kMeans * all_s * means, pairs = Eigen::VectorXd::Zero(unknowns), weights = pairs;
        const auto couple = [&](Eigen::Index p, Eigen::Index q, double difference, double weight) {
            matrix(p, p) += weight, matrix(q, q) += weight;
            matrix(p, q) -= weight, matrix(q, p) -= weight;
            right[p] -= weight * difference, right[q] += weight * difference;
        };
        for (std::size_t k = 1; k < blocks_.size(); ++k) {
            const int p = blocks_[k - 1].processor, q = blocks_[k].processor;
            if (p == q) continue;
            const double differ = of_blocks[k] - of_blocks[k - 1], off = std::abs(differ - (logs[q] - logs[p]));
            const double weight = std::min(blocks_[k - 1].seconds, blocks_[k].seconds) / std::max(off, kSame);
            couple(p, q, differ, weight);
            for (const int its : {p, q}) pairs[its] += 1, weights[its] += weight;
        }
        for (Eigen::Index p = 0; p < std::ssize(kinds_); ++p) {
            const double missing = std::max(0.0, blocks - pairs[p]);
            couple(p, static_cast<Eigen::Index>(of_kind.at(kinds_[static_cast<std::size_t>(p)])), 0,
                   pairs[p] > 0 ? missing / pairs[p] * weights[p] : all_s);
        }
        before = std::exchange(logs, matrix.ldlt().solve(right));
        if ((logs - before).cwiseAbs().maxCoeff() < kSettled) break;
    }
    return {logs.begin(), logs.begin() + std::ssize(kinds_)};
}

/// Seconds of a unit.
std::vector<double> UnitCosts::speeds_by_neighbours() const {
    std::vector<double> of_blocks;
    for (const BlockOfRun& block : blocks_)
        of_blocks.push_back(std::log(block.seconds / static_cast<double>(block.units)));
    std::vector<double> speeds = told_by_neighbours(of_blocks, kBlocks);
    for (double& its : speeds) its = std::exp(its);
    return speeds;
}

/// Whether blocks took by half more or less than their sizes and processors say: sizes by all blocks of a kind,
/// processors by their neighbours, as those of a kind may be unlike. Each by itself may have computed units that are
/// alike.
bool UnitCosts::places_differ() const {
    std::map<int, std::vector<BlockTime>> of_kinds;
    for (const BlockOfRun& block : blocks_)
        of_kinds[kinds_[static_cast<std::size_t>(block.processor)]].push_back(
            {static_cast<double>(block.units), block.seconds});
    std::map<int, std::optional<FittedCurve>> curves;
    for (const auto& [kind, times] : of_kinds) curves[kind] = FittedCurve::fit(times);
    std::vector<double> of_blocks;
    for (const BlockOfRun& block : blocks_) {
        const auto& curve = curves[kinds_[static_cast<std::size_t>(block.processor)]];
        if (!curve) return false;
        of_blocks.push_back(std::log(block.seconds / curve->seconds(static_cast<double>(block.units))));
    }
    const std::vector<double> of_processors = told_by_neighbours(of_blocks, 0);
    double sum = 0, all_s = 0;
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
        const BlockOfRun& block = blocks_[k];
        if (!(block.promised_s > 0) || std::isinf(block.promised_s)) continue;  // a first one may warm up
        sum += block.seconds * std::abs(of_blocks[k] - of_processors[static_cast<std::size_t>(block.processor)]);
        all_s += block.seconds;
    }
    return sum > all_s * std::log(kUnlike);
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
