// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/plb_hec/plb_hec_published.hpp"

#include <algorithm>
#include <cmath>

#include "policies/planners/continuous/equal_finish_ipopt.hpp"
#include "policies/plb_hec/plb_hec_models.hpp"

namespace apportion {

namespace {

constexpr int kProbeRounds = 4;              // III.B
constexpr double kSmallestR2 = 0.7;          // III.B
constexpr double kProbedShare = 0.20;        // III.B
constexpr double kRebalanceThreshold = 0.1;  // III.D
constexpr double kRounds = 4;                // of execution; not in the paper

/// E = F + G (eq. 5).
class BlockSeconds final : public ShareTime {
  public:
    BlockSeconds(const FittedCurve& kernel, const TransferLine& in, const TransferLine& out)
        : kernel_(kernel),
          latency_s_(in.latency_s() + out.latency_s()),
          slope_s_(in.seconds_per_unit() + out.seconds_per_unit()) {}
    double seconds(double units) const override { return kernel_.seconds(units) + latency_s_ + slope_s_ * units; }
    double derivative(double units) const override { return kernel_.derivative(units) + slope_s_; }
    double second_derivative(double units) const override { return kernel_.second_derivative(units); }

  private:
    const FittedCurve& kernel_;
    double latency_s_, slope_s_;
};

PlbHecModels::Options published_models() {
    PlbHecModels::Options options;
    options.pooled = false;
    options.robust = false;
    options.learnt = false;
    return options;
}

class PlbHecPublished final : public Policy {
  public:
    PlbHecPublished() : models_(published_models()) {}

    void begin(const LoadDescription& load) override {
        load_ = load;
        lanes_.assign(load.processors.size(), {});
        report_ = {};
        solver_.reset_statistics();
        left_ = load.units;
        round_ = 0;
        round_units_ = 0;
        first_size_ = static_cast<double>(load.initial_block);
        phase_ = Phase::probing;
        if (models_.begin(load) && load.units > 0) {
            select_sizes(0, "models of the previous run");
        } else {
            for (Lane& lane : lanes_) lane.size = round_to_granularity(first_size_, load.granularity);
        }
    }

    Units next_block(int processor, double now_s, const Progress& progress) override {
        left_ = progress.remaining();
        if (phase_ != Phase::running && round_is_over(progress)) {
            if (phase_ == Phase::probing) {
                end_probing_round(now_s);
            } else {
                ++report_.rebalances;
                select_sizes(now_s, "rebalance");
            }
        }
        Lane& lane = lanes_[static_cast<std::size_t>(processor)];
        if (phase_ != Phase::running && (lane.given_in_round || !progress.in_flight(processor).empty())) return 0;
        if (lane.size > 0) lane.given_in_round = true;
        return lane.size;  // 0: left out
    }

    void block_finished(const FinishedBlock& block) override {
        Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
        models_.add(block);
        lane.turnaround_s = block.end_s - std::max(block.given_s, block.previous_end_s);
        lane.ran_units = block.units;
        lane.ends_s.push_back(block.end_s);
        if (phase_ == Phase::running && too_different()) {
            phase_ = Phase::synchronising;
            for (Lane& other : lanes_) other.given_in_round = true;
            // Who noticed gets a new block; it would wait for the others for long (III.D).
            lane.given_in_round = false;
        }
    }

    void block_returned(int processor, Units units, double seconds) override {
        models_.add_return(processor, units, seconds);
    }

    PolicyReport report() const override {
        PolicyReport report = report_;
        models_.report(report);
        report.solves = solver_.statistics().solves;
        report.solver_fallbacks = solver_.statistics().fallbacks;
        report.solver_seconds = solver_.statistics().seconds;
        report.note = "as published";
        return report;
    }

  private:
    enum class Phase { probing, running, synchronising };
    struct Lane {
        Units size = 0;  ///< of its next block
        bool given_in_round = false;
        double turnaround_s = 0;  ///< of its last block, transfer included
        Units ran_units = 0;
        std::vector<double> ends_s;  ///< ends of its blocks since the last selection
    };

    /// The barrier: everybody who got a block in this round has finished it, or is lost.
    bool round_is_over(const Progress& progress) const {
        bool given = false;
        for (std::size_t p = 0; p < lanes_.size(); ++p) {
            if (!progress.in_flight(static_cast<int>(p)).empty()) return false;
            given = given || lanes_[p].given_in_round;
        }
        return given;
    }

    void end_probing_round(double now_s) {
        ++round_;
        double smallest_r2 = 1, fastest_s = 0;
        for (std::size_t p = 0; p < lanes_.size(); ++p) {
            Lane& lane = lanes_[p];
            const FittedCurve* curve = models_.curve(static_cast<int>(p));
            smallest_r2 = std::min(smallest_r2, curve ? curve->r2() : 0);
            // Seconds for one initial block, so that processors whose blocks differ in size compare.
            lane.turnaround_s *= first_size_ / static_cast<double>(std::max<Units>(1, lane.ran_units));
            if (p == 0 || lane.turnaround_s < fastest_s) fastest_s = lane.turnaround_s;
        }
        std::vector<double> sizes;
        double total = 0;
        for (const Lane& lane : lanes_) {
            sizes.push_back(std::exp2(round_) * first_size_ * fastest_s / std::max(lane.turnaround_s, 1e-12));
            total += sizes.back();
        }
        const double units = static_cast<double>(load_.units);
        const double budget = kProbedShare * units - (units - static_cast<double>(left_));
        const double smallest_round = static_cast<double>(load_.granularity) * static_cast<double>(lanes_.size());
        if ((round_ >= kProbeRounds && smallest_r2 > kSmallestR2) || budget < smallest_round) {
            report_.probing_seconds = now_s;
            select_sizes(now_s, "first fit");
            return;
        }
        for (std::size_t p = 0; p < lanes_.size(); ++p) {
            lanes_[p].size = round_to_granularity(sizes[p] * std::min(1.0, budget / total), load_.granularity);
            lanes_[p].given_in_round = false;
        }
    }

    /// Solves eqs 3-5 for one round of what is left.
    void select_sizes(double now_s, const char* reason) {
        EqualFinishProblem problem;
        std::vector<BlockSeconds> times;
        times.reserve(lanes_.size());
        double bound = 0;
        for (std::size_t p = 0; p < lanes_.size(); ++p) {
            const int processor = static_cast<int>(p);
            if (!models_.curve(processor)) continue;
            times.emplace_back(*models_.curve(processor), models_.in(processor), models_.out(processor));
            const Units memory = load_.processors[p].memory_units;
            const double most = memory == kNoLimit ? static_cast<double>(load_.units) : static_cast<double>(memory);
            problem.processors.push_back({&times.back(), 0, most, 1});
            bound += most;
        }
        if (round_units_ <= 0) round_units_ = static_cast<double>(left_) / kRounds;
        round_units_ = std::min(round_units_, 0.9 * bound);
        problem.units = std::min(round_units_, static_cast<double>(left_));
        const EqualFinishPlan plan = solver_.solve(problem, EqualFinishIpopt::Start::equal_shares);
        PlannedDistribution distribution{
            now_s, reason, {}, now_s + plan.finish_s * static_cast<double>(left_) / std::max(1.0, problem.units)};
        std::size_t next = 0;
        for (std::size_t p = 0; p < lanes_.size(); ++p) {
            Lane& lane = lanes_[p];
            const double x = models_.curve(static_cast<int>(p)) ? plan.shares_units[next++] : 0;
            // Less than half a granule is nothing: the processor is left out.
            lane.size = x * 2 < static_cast<double>(load_.granularity) ? 0 : round_to_granularity(x, load_.granularity);
            lane.given_in_round = false;
            lane.ends_s.clear();
            distribution.shares_units.push_back(x * static_cast<double>(left_) / std::max(1.0, problem.units));
        }
        report_.distributions.push_back(distribution);
        phase_ = Phase::running;
    }

    /// Whether two processors' blocks of the same round ended further apart than the threshold allows.
    bool too_different() const {
        std::size_t rounds = std::numeric_limits<std::size_t>::max();
        for (const Lane& lane : lanes_)
            if (lane.size > 0) rounds = std::min(rounds, lane.ends_s.size());
        if (rounds == 0 || rounds == std::numeric_limits<std::size_t>::max()) return false;
        double first = std::numeric_limits<double>::infinity(), last = 0, longest = 0;
        for (const Lane& lane : lanes_) {
            if (lane.size == 0) continue;
            first = std::min(first, lane.ends_s[rounds - 1]);
            last = std::max(last, lane.ends_s[rounds - 1]);
            longest = std::max(longest, lane.turnaround_s);
        }
        return last - first > kRebalanceThreshold * longest;
    }

    LoadDescription load_;
    PlbHecModels models_;
    EqualFinishIpopt solver_;
    PolicyReport report_;
    std::vector<Lane> lanes_;
    Phase phase_ = Phase::probing;
    Units left_ = 0;
    int round_ = 0;
    double first_size_ = 1;
    double round_units_ = 0;  ///< size of one round of execution
};

}  // namespace

std::unique_ptr<Policy> make_plb_hec_published() { return std::make_unique<PlbHecPublished>(); }

}  // namespace apportion
