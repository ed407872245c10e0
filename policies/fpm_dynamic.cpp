// SPDX-License-Identifier: LGPL-2.1-or-later
//
// fpm-dynamic: partitioning by partial functional performance models that are refined while the application runs
// (FuPerMod, section 4: dynamic data partitioning; algorithm 1: dynamic load balancing of iterative applications).
//
// Within one run: synchronised rounds. The first one gives everybody an initial block; each measures (units, seconds)
// for every processor, refines the partial models, and the geometrical algorithm partitions the next round. Rounds
// grow; when the times of one are close, the rest of the load is one last round.
//
// A load that runs again is one round per run, with the shares it had, until others pay
// (policies/shared/redistribution.hpp). An open one has no shares to keep: what has come is a round.
//
// Where the paper is ambiguous or differs: its first partition gives everybody n / p, which a single run cannot take
// back, and its algorithm 1 partitions anew in every iteration although the text stops when the times are close
// ("sufficiently" is 10 % here, as for PLB-HeC). A processor whose share is less than half a granule gets nothing, and
// its model stays as it is. The time of a share includes its transfers to the processor, as the paper measures it, and
// where the share is the whole run's that of its results back; other rounds go on meanwhile.
//
// fpm-dynamic-published: algorithm 1 as it is printed, for loads that run again. The first run gives everybody n / p,
// and every run after it the partition of models that have every (d_i, t_i) of the runs before and nothing else,
// however little that gains. fpm-dynamic judges what it measures (models/partial_model.hpp).
//
// Good for: iterative applications. A single run waits for the slowest processor after each round.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "models/io/text.hpp"
#include "models/partial_model.hpp"
#include "models/transfer.hpp"
#include "policies/planners/continuous/geometric.hpp"
#include "policies/shared/redistribution.hpp"
#include "policies/shared/synchronised_round.hpp"

namespace apportion {

namespace {

constexpr double kCloseTimes = 0.1;  // of the longest
constexpr double kRoundGrowth = 4;   // units of a round, of those of the one before
constexpr double kLastRound = 0.5;   // a round that would take more of what is left takes all of it

enum class Variant { improved, printed };

class FpmDynamic final : public Policy {
  public:
    explicit FpmDynamic(Variant variant) : variant_(variant) {}

    void begin(const LoadDescription& load) override;
    Units next_block(int processor, double now_s, const Progress& progress) override;
    void block_finished(const FinishedBlock& block) override;
    void block_returned(const ReturnedBlock& block) override;
    void processor_lost(int processor) override;
    PolicyReport report() const override;

  private:
    struct Lane {
        Processor processor;
        PartialModel model{};
        TransferLine out{};     ///< of results, which travel while others' rounds go on, but for those of a run's end
        Units computed = 0;     ///< in this run
        double end_s = 0;       ///< of its last block
        bool measured = false;  ///< its share of this round is in the model
        bool lost = false;
    };

    bool all_measured() const;
    std::optional<PiecewiseLinear> function_of(const Lane& lane) const;
    bool times_are_close() const;
    std::vector<double> partition(double units) const;
    void begin_round(std::span<const double> shares, double now_s, Units remaining, const char* reason);
    void end_round(double now_s, Units remaining);

    Variant variant_;
    LoadDescription load_;
    std::vector<Lane> lanes_;
    SynchronisedRound round_;
    double round_units_ = 0;
    bool one_round_ = false;  ///< for the whole run
    Rebalancer rebalancer_;
    PolicyReport report_;
};

bool FpmDynamic::all_measured() const {
    return std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.lost || lane.model.function(); });
}

void FpmDynamic::begin(const LoadDescription& load) {
    EndedRun before{{}, {}, one_round_};
    for (const Lane& lane : lanes_) {
        before.shares.push_back(static_cast<double>(lane.computed));
        before.ends_s.push_back(lane.end_s);
    }
    const double computed = std::accumulate(before.shares.begin(), before.shares.end(), 0.0);
    const bool again = same_processors(load_.processors, load.processors);
    const bool same_load =
        load_.units == load.units && again && !lanes_.empty() && computed == static_cast<double>(load.units);
    if (!again) {
        lanes_.clear();
        const PartialModel empty(variant_ == Variant::printed ? PartialModel::Belief::as_printed
                                                              : PartialModel::Belief::judged);
        for (const Processor& processor : load.processors) lanes_.push_back({processor, empty});
    }
    load_ = load;
    report_ = {};
    for (Lane& lane : lanes_) lane.computed = 0, lane.end_s = 0, lane.lost = false;
    round_ = {};
    one_round_ = all_measured();
    if (variant_ == Variant::printed) {
        round_units_ = static_cast<double>(load.units);
        const std::vector<double> equal(lanes_.size(), round_units_ / static_cast<double>(lanes_.size()));
        return begin_round(one_round_ ? partition(round_units_) : equal, 0, load.units,
                           one_round_ ? "refined models" : "equal shares");
    }
    if (!same_load) rebalancer_.forget();
    if (!one_round_) {
        round_units_ = 0;
        const std::vector<double> shares(lanes_.size(), static_cast<double>(load.initial_block));
        begin_round(shares, 0, load.units, "initial blocks");
        return;
    }
    round_units_ = static_cast<double>(load.units);
    if (load.open) {  // each time that units have come is a round
        round_.begin(load_, std::vector<Units>(lanes_.size(), 0), 0);
        return;
    }
    if (!same_load) {
        begin_round(partition(round_units_), 0, load.units, "models of the previous run");
        return;
    }
    std::vector<std::optional<PiecewiseLinear>> functions;
    for (const Lane& lane : lanes_) functions.push_back(function_of(lane));
    const Redistribution decision = rebalancer_.decide(load, before, [&functions](std::size_t p, double units) {
        const auto& function = functions[p];
        return function ? function->seconds(units) : std::numeric_limits<double>::infinity();
    });
    report_.rebalances = decision.worthwhile ? 1 : 0;
    begin_round(decision.shares, 0, load.units, decision.worthwhile ? "redistribution" : "distribution kept");
}

/// Seconds of a share: of one that is the whole run's, until its results are home.
std::optional<PiecewiseLinear> FpmDynamic::function_of(const Lane& lane) const {
    const auto& function = lane.model.function();
    if (!function || !one_round_ || lane.out.samples() == 0) return function;
    std::vector<BlockTime> until_home;
    for (const SpeedPoint& point : function->points())
        until_home.push_back({point.units, point.units / point.units_per_s + lane.out.seconds(point.units)});
    return PiecewiseLinear::through(until_home, PiecewiseLinear::Shape::restricted);
}

/// The geometrical algorithm on the partial models.
std::vector<double> FpmDynamic::partition(double units) const {
    std::vector<std::optional<PiecewiseLinear>> models;
    for (const Lane& lane : lanes_) models.push_back(lane.lost ? std::nullopt : function_of(lane));
    return geometric_partition(models, units, std::vector<double>(lanes_.size(), units)).shares;
}

void FpmDynamic::begin_round(std::span<const double> shares, double now_s, Units remaining, const char* reason) {
    double longest_s = 0, units = 0;
    for (std::size_t p = 0; p < shares.size(); ++p) {
        lanes_[p].measured = false;
        const auto function = function_of(lanes_[p]);
        if (function && shares[p] > 0) longest_s = std::max(longest_s, function->seconds(shares[p]));
        units += shares[p];
    }
    round_.begin(load_, whole_shares(shares, load_.granularity), remaining);
    report_.distributions.push_back({now_s,
                                     reason,
                                     {shares.begin(), shares.end()},
                                     now_s + longest_s * static_cast<double>(remaining) / std::max(units, 1.0)});
}

bool FpmDynamic::times_are_close() const {
    double shortest_s = std::numeric_limits<double>::infinity(), longest_s = 0;
    for (int p = 0; p < static_cast<int>(lanes_.size()); ++p) {
        if (round_.units(p) == 0) continue;
        shortest_s = std::min(shortest_s, round_.seconds(p));
        longest_s = std::max(longest_s, round_.seconds(p));
    }
    return longest_s - shortest_s <= kCloseTimes * longest_s;
}

void FpmDynamic::end_round(double now_s, Units remaining) {
    const auto left = static_cast<double>(remaining);
    if (round_units_ <= 0) round_units_ = static_cast<double>(load_.initial_block) * static_cast<double>(lanes_.size());
    one_round_ = false;
    if (report_.probing_seconds <= 0) report_.probing_seconds = now_s;
    round_units_ = std::min(left, times_are_close() ? left : kRoundGrowth * round_units_);
    if (round_units_ > kLastRound * left) round_units_ = left;
    std::vector<double> shares = partition(round_units_);
    const double planned = std::accumulate(shares.begin(), shares.end(), 0.0);
    if (planned < 1)  // nobody was measured
        for (std::size_t p = 0; p < lanes_.size(); ++p)
            shares[p] = lanes_[p].lost ? 0 : round_units_ / static_cast<double>(lanes_.size());
    begin_round(shares, now_s, remaining, "refined models");
}

Units FpmDynamic::next_block(int processor, double now_s, const Progress& progress) {
    if (round_.over(progress)) end_round(now_s, progress.remaining());
    return round_.next(processor, progress);
}

void FpmDynamic::block_finished(const FinishedBlock& block) {
    Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
    lane.computed += block.units;
    lane.end_s = std::max(lane.end_s, block.end_s);
    round_.finished(block);
    if (lane.measured || !round_.complete(block.processor)) return;
    lane.measured = true;
    const auto units = static_cast<double>(round_.units(block.processor));
    const PartialModel::Verdict verdict = lane.model.add({units, round_.seconds(block.processor)});
    if (verdict == PartialModel::Verdict::spike) ++report_.discarded_samples;
    if (verdict == PartialModel::Verdict::changed) rebalancer_.forget();
}

void FpmDynamic::block_returned(const ReturnedBlock& block) {
    if (variant_ == Variant::printed) return;
    Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
    if (lane.processor.own_memory) lane.out.add(static_cast<double>(block.units), block.travelled_s);
    lane.end_s = std::max(lane.end_s, block.home_s);
}

void FpmDynamic::processor_lost(int processor) {
    lanes_[static_cast<std::size_t>(processor)].lost = true;
    round_.lost(processor);
}

PolicyReport FpmDynamic::report() const {
    PolicyReport report = report_;
    for (const Lane& lane : lanes_) {
        PolicyReport::Model model;
        if (const auto& function = lane.model.function()) {
            const MeasuredRange range = function->range();
            model.formula = fmt::format("speed through {} from {:.6g} units ({:.4g}/s) to {:.6g} ({:.4g}/s)",
                                        counted(function->points().size(), "point"), range.smallest,
                                        function->speed(range.smallest), range.largest, function->speed(range.largest));
            model.samples = lane.model.samples();
            model.r2 = std::numeric_limits<double>::quiet_NaN();
        }
        report.models.push_back(model);
    }
    return report;
}

}  // namespace

extern const PolicyEntry fpm_dynamic_policy{
    .name = "fpm-dynamic",
    .description = "shares by partial functional performance models, refined round by round and from run to run",
    .make = [] { return std::unique_ptr<Policy>(std::make_unique<FpmDynamic>(Variant::improved)); }};

extern const PolicyEntry fpm_dynamic_published_policy{
    .name = "fpm-dynamic-published",
    .description = "equal shares, and new ones by partial functional models in every run after it",
    .make = [] { return std::unique_ptr<Policy>(std::make_unique<FpmDynamic>(Variant::printed)); }};

}  // namespace apportion
