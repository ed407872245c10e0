// SPDX-License-Identifier: LGPL-2.1-or-later
//
// plb-hec-published: PLB-HeC as its paper has it (Sant'Ana, Camargo, Cordeiro: PLB-HeC, IEEE Cluster 2015, section III,
// algorithms 1 and 2). The project's own variant is plb_hec.cpp.
//
// Phases: probing in synchronised rounds of 1, 2, 4, 8, ... initial blocks, scaled by t_f / t_k (III.B) -> curve and
// line per processor -> shares by IPOPT (III.C) -> every processor runs blocks of its own size, the next one when it
// has finished one, until the units are used up; a difference above 10 % of a block's time makes them synchronise, fit
// and solve again (III.D).
//
// Where the paper is ambiguous: probing goes on while some R^2 does not exceed 0.7 and less than 20 % of the units are
// used; R^2 is that of F, for a constant transfer time has none; t_f / t_k is that of the latest round, per unit; the
// multiplier goes on doubling after the fourth round; the functions of F are those of the smallest corrected Akaike
// criterion among the increasing ones (fitted_curve.hpp), at most two for four sizes, so that something is left to
// judge by; G has the way back as well ("all transfer overheads"); x_g is the size of one round, and the rest after
// probing makes kRounds rounds, more where a memory is too small (the paper does not say how many); the threshold is
// relative to the longest block of the round. Where it differs: the paper says 20 % of rounds after the fourth only;
// here the first four are cut to that as well, and may be fewer, so that probing does not use up a small load.
//
// The paper leaves lost processors to future work, as "a simple redistribution of the data among the remaining
// devices": the others synchronise, fit and solve again. A load that runs again begins with its models.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "models/fitted_curve.hpp"
#include "models/transfer.hpp"
#include "policies/planners/continuous/equal_finish_ipopt.hpp"
#include "policies/policy.hpp"
#include "policies/shared/solver_report.hpp"

namespace apportion {

namespace {

constexpr int kProbeRounds = 4;              // III.B
constexpr double kSmallestR2 = 0.7;          // III.B
constexpr double kProbedShare = 0.20;        // III.B
constexpr double kRebalanceThreshold = 0.1;  // III.D
constexpr double kRounds = 4;                // of execution; not in the paper
constexpr std::size_t kHistory = 64;         // blocks that a curve is fitted to; not in the paper, bounds a fit's time

/// F and G of a processor.
class ProcessorModel {
  public:
    void add(const FinishedBlock& block, bool own_memory) {
        const auto units = static_cast<double>(block.units);
        if (own_memory) in_.add(units, block.start_s - block.given_s);
        samples_.push_back({units, block.busy_s});
        if (samples_.size() > kHistory) samples_.erase(samples_.begin());
    }
    void add_return(Units units, double seconds) { out_.add(static_cast<double>(units), seconds); }

    void fit() {
        FitOptions options;
        options.line_first = false;
        curve_ = FittedCurve::fit(samples_, options);
    }

    const FittedCurve* curve() const { return curve_ ? &*curve_ : nullptr; }  ///< nullptr: nothing was measured
    TransferLine transfers() const { return in_ + out_; }

  private:
    std::vector<BlockTime> samples_;  ///< oldest first
    std::optional<FittedCurve> curve_;
    TransferLine in_, out_;
};

/// E = F + G (eq. 5).
class BlockSeconds final : public ShareTime {
  public:
    explicit BlockSeconds(const ProcessorModel& model) : kernel_(*model.curve()), transfers_(model.transfers()) {}
    double seconds(double units) const override { return kernel_.seconds(units) + transfers_.seconds(units); }
    double derivative(double units) const override { return kernel_.derivative(units) + transfers_.seconds_per_unit(); }
    double second_derivative(double units) const override { return kernel_.second_derivative(units); }

  private:
    const FittedCurve& kernel_;
    TransferLine transfers_;
};

class PlbHecPublished final : public Policy {
  public:
    void begin(const LoadDescription& load) override;
    Units next_block(int processor, double now_s, const Progress& progress) override;
    void block_finished(const FinishedBlock& block) override;
    void block_returned(const ReturnedBlock& block) override {
        at(block.processor).model.add_return(block.units, block.travelled_s);
    }
    void processor_lost(int processor) override;
    PolicyReport report() const override;

  private:
    enum class Phase { probing, running, synchronising };
    struct Lane {
        ProcessorModel model{};
        bool lost = false;
        Units size = 0;  ///< of its next block
        bool given_in_round = false;
        double turnaround_s = 0;       ///< of its last block, transfer included
        Units ran_units = 0;           ///< in that; 0: it ran none in this run
        std::vector<double> ends_s{};  ///< ends of its blocks since the last selection

        bool takes_part() const { return !lost && size > 0; }
    };

    Lane& at(int processor) { return lanes_[static_cast<std::size_t>(processor)]; }
    bool round_is_over(const Progress& progress) const;
    void synchronise();
    void fit();
    void end_probing_round(double now_s);
    void set_probes(double budget_units);
    void select_sizes(double now_s, const char* reason);
    bool too_different() const;

    LoadDescription load_;
    EqualFinishIpopt solver_;
    PolicyReport report_;
    std::vector<Lane> lanes_;
    Phase phase_ = Phase::probing;
    const char* reason_ = nullptr;  ///< for the synchronisation
    Units left_ = 0;
    int round_ = 0;
    double first_size_ = 1;
    double round_units_ = 0;  ///< size of one round of execution
};

void PlbHecPublished::begin(const LoadDescription& load) {
    const bool again = same_processors(load_.processors, load.processors);
    load_ = load;
    report_ = {};
    solver_.reset_statistics();
    left_ = load.units;
    round_ = 0;
    round_units_ = 0;
    first_size_ = static_cast<double>(load.initial_block);
    std::vector<Lane> before = std::move(lanes_);
    lanes_.clear();
    for (std::size_t p = 0; p < load.processors.size(); ++p) {
        Lane& lane = lanes_.emplace_back();
        if (again) lane.model = std::move(before[p].model);
    }
    fit();
    if (std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.model.curve(); })) {
        select_sizes(0, "models of the previous run");
        return;
    }
    phase_ = Phase::probing;
    for (Lane& lane : lanes_) lane.size = round_to_granularity(first_size_, load.granularity);
}

Units PlbHecPublished::next_block(int processor, double now_s, const Progress& progress) {
    left_ = progress.remaining();
    if (phase_ != Phase::running && round_is_over(progress)) {
        fit();
        if (phase_ == Phase::probing)
            end_probing_round(now_s);
        else
            select_sizes(now_s, reason_);
    }
    Lane& lane = at(processor);
    if (lane.lost || !progress.in_flight(processor).empty()) return 0;
    if (phase_ != Phase::running && lane.given_in_round) return 0;
    if (lane.size > 0) lane.given_in_round = true;
    return lane.size;  // 0: left out
}

void PlbHecPublished::block_finished(const FinishedBlock& block) {
    Lane& lane = at(block.processor);
    lane.model.add(block, load_.processors[static_cast<std::size_t>(block.processor)].own_memory);
    lane.turnaround_s = block.end_s - block.given_s;
    lane.ran_units = block.units;
    lane.ends_s.push_back(block.end_s);
    if (phase_ != Phase::running || !too_different()) return;
    ++report_.rebalances;
    reason_ = "rebalance";
    synchronise();
    // The processor that noticed gets a new block; it would wait for the others for long (III.D).
    lane.given_in_round = false;
}

void PlbHecPublished::processor_lost(int processor) {
    at(processor).lost = true;
    if (phase_ == Phase::probing) return;
    reason_ = "processor lost";
    synchronise();
}

PolicyReport PlbHecPublished::report() const {
    PolicyReport report = report_;
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
        PolicyReport::Model& model = report.models.emplace_back();
        if (const FittedCurve* curve = lanes_[p].model.curve()) {
            model.formula = curve->formula();
            model.r2 = curve->r2();
            model.samples = curve->samples();
        }
        if (load_.processors[p].own_memory) model.transfer = lanes_[p].model.transfers().formula();
    }
    report_solver(solver_, report);
    return report;
}

/// The barrier: all that got a block in this round have finished it, or are lost.
bool PlbHecPublished::round_is_over(const Progress& progress) const {
    bool given = false;
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
        if (lanes_[p].lost) continue;
        if (!progress.in_flight(static_cast<int>(p)).empty()) return false;
        given = given || lanes_[p].given_in_round;
    }
    return given;
}

void PlbHecPublished::synchronise() {
    phase_ = Phase::synchronising;
    for (Lane& lane : lanes_) lane.given_in_round = true;
}

void PlbHecPublished::fit() {
    for (Lane& lane : lanes_) lane.model.fit();
}

void PlbHecPublished::end_probing_round(double now_s) {
    ++round_;
    double smallest_r2 = 1;
    Units smallest_round = 0;
    for (const Lane& lane : lanes_) {
        if (lane.lost) continue;
        const FittedCurve* curve = lane.model.curve();
        smallest_r2 = std::min(smallest_r2, curve ? curve->r2() : 0);
        smallest_round += load_.granularity;
    }
    const double units = static_cast<double>(load_.units);
    const double budget_units = kProbedShare * units - (units - static_cast<double>(left_));
    if ((round_ >= kProbeRounds && smallest_r2 > kSmallestR2) || budget_units < static_cast<double>(smallest_round)) {
        report_.probing_seconds = now_s;
        select_sizes(now_s, "first fit");
    } else {
        set_probes(budget_units);
    }
}

/// The next round of probes, scaled down where it is more than the budget.
void PlbHecPublished::set_probes(double budget_units) {
    // Seconds for one unit, so that processors whose blocks differ in size compare.
    const auto pace_s = [](const Lane& lane) {
        return std::max(lane.turnaround_s, 1e-12) / static_cast<double>(std::max<Units>(1, lane.ran_units));
    };
    double fastest_s = 0;
    for (const Lane& lane : lanes_)
        if (!lane.lost && (fastest_s == 0 || pace_s(lane) < fastest_s)) fastest_s = pace_s(lane);
    std::vector<double> sizes;
    double total = 0;
    for (const Lane& lane : lanes_) {
        sizes.push_back(lane.lost ? 0 : std::exp2(round_) * first_size_ * fastest_s / pace_s(lane));
        total += sizes.back();
    }
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
        lanes_[p].size = round_to_granularity(sizes[p] * std::min(1.0, budget_units / total), load_.granularity);
        lanes_[p].given_in_round = false;
    }
}

/// Solves eqs 3-5 for one round of what is left.
void PlbHecPublished::select_sizes(double now_s, const char* reason) {
    EqualFinishProblem problem;
    std::vector<BlockSeconds> times;
    times.reserve(lanes_.size());
    std::vector<std::size_t> processor_of;
    double bound = 0;
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
        lanes_[p].size = 0;
        lanes_[p].given_in_round = false;
        lanes_[p].ends_s.clear();
        if (lanes_[p].lost || !lanes_[p].model.curve()) continue;
        times.emplace_back(lanes_[p].model);
        const Units memory = load_.processors[p].memory_units;
        const double most = static_cast<double>(memory == kNoLimit ? load_.units : memory);
        problem.processors.push_back({&times.back(), 0, most});
        processor_of.push_back(p);
        bound += most;
    }
    phase_ = Phase::running;
    if (processor_of.empty() || left_ <= 0) return;

    const double left = static_cast<double>(left_);
    if (round_units_ <= 0) round_units_ = left / kRounds;
    constexpr double kInside = 0.9;  // of the memories together: all shares are below their bounds
    problem.units = std::min({round_units_, kInside * bound, left});
    const EqualFinishPlan plan = solver_.solve(problem, IpoptStart::equal_shares);
    const double rounds = left / problem.units;
    PlannedDistribution distribution{now_s, reason, std::vector<double>(lanes_.size(), 0),
                                     now_s + plan.finish_s * rounds};
    std::size_t largest = 0;
    for (std::size_t k = 0; k < processor_of.size(); ++k) {
        const double x = plan.shares_units[k];
        if (x > plan.shares_units[largest]) largest = k;
        distribution.shares_units[processor_of[k]] = x * rounds;
        // The closest valid size (III.D): less than half a granule is nothing, and the processor is left out.
        if (x * 2 >= static_cast<double>(load_.granularity))
            lanes_[processor_of[k]].size = round_to_granularity(x, load_.granularity);
    }
    Units& of_largest = lanes_[processor_of[largest]].size;
    of_largest = std::max(of_largest, load_.granularity);
    report_.distributions.push_back(distribution);
}

/// Whether two processors' blocks of the same round ended further apart than the threshold allows.
bool PlbHecPublished::too_different() const {
    std::size_t rounds = 0;
    bool first_of_all = true;
    for (const Lane& lane : lanes_) {
        if (!lane.takes_part()) continue;
        rounds = first_of_all ? lane.ends_s.size() : std::min(rounds, lane.ends_s.size());
        first_of_all = false;
    }
    if (rounds == 0) return false;
    double first_s = std::numeric_limits<double>::infinity(), last_s = 0, longest_s = 0;
    for (const Lane& lane : lanes_) {
        if (!lane.takes_part()) continue;
        first_s = std::min(first_s, lane.ends_s[rounds - 1]);
        last_s = std::max(last_s, lane.ends_s[rounds - 1]);
        longest_s = std::max(longest_s, lane.turnaround_s);
    }
    return last_s - first_s > kRebalanceThreshold * longest_s;
}

}  // namespace

extern const PolicyEntry plb_hec_published_policy{
    .name = "plb-hec-published",
    .description = "PLB-HeC's own algorithm: probing rounds, curves, blocks by IPOPT, rebalancing above 10 %",
    .make = make_policy<PlbHecPublished>};

}  // namespace apportion
