// SPDX-License-Identifier: LGPL-2.1-or-later
//
// acosta: synchronised rounds whose loads follow the relative power of the processors until they are balanced (Acosta,
// Blanco, Almeida 2012, as described by Sant'Ana, Camargo, Cordeiro: PLB-HeC, section II, who compared with it).
//
// What the paper says: every processor records the time of its last task; when these differ by more than a threshold of
// the user's, relative powers RP (load over time) and their sum SRP give the next loads; the processors synchronise at
// each iteration until they reach an equilibrium, which they approach asymptotically.
//
// Where it is ambiguous: the loads of the first round are equal (one initial block each), and a round's total stays
// what it was then; the threshold is 10 % of the longest time (as PLB-HeC's, section III.D); once within it, processors
// take blocks of their load without waiting for each other, and synchronise again when their times differ by more; who
// has less than half a granule to do is left out from then on; the time of a task includes its transfer to the
// processor.
//
// Good for: a yardstick. Speeds are those of the size that was run last, so that fixed costs slow the convergence, and
// every round waits for its slowest processor. A load that runs again begins with the loads of its last round; who was
// lost then, with an initial block.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "policies/synchronised_round.hpp"

namespace apportion {

namespace {

constexpr double kThreshold = 0.1;

class Acosta final : public Policy {
  public:
    void begin(const LoadDescription& load) override {
        const bool again = load.units == load_.units && load.granularity == load_.granularity &&
                           load.initial_block == load_.initial_block && load.processors.size() == lanes_.size();
        load_ = load;
        report_ = {};
        balanced_ = false;
        const double first = static_cast<double>(round_to_granularity(double(load.initial_block), load.granularity));
        round_units_ = first * static_cast<double>(load.processors.size());
        if (!again) lanes_.assign(load.processors.size(), Lane{static_cast<Units>(first)});
        for (Lane& lane : lanes_) {
            if (lane.lost) lane.load = static_cast<Units>(first);
            lane.units = 0;
            lane.lost = false;
        }
        begin_round(load.units);
    }

    Units next_block(int processor, double now_s, const Progress& progress) override {
        if (!balanced_ && round_.over(progress)) end_round(now_s, progress.remaining());
        return balanced_ ? at(processor).load : round_.next(processor, progress);
    }

    void block_finished(const FinishedBlock& block) override {
        Lane& lane = at(block.processor);
        if (balanced_) {
            lane.units = block.units;
            lane.seconds = block.end_s - std::max(block.given_s, block.previous_end_s);
            if (everybody_ran() && !within_threshold()) wait_for_all();
        } else {
            round_.finished(block);
            lane.units = round_.units(block.processor);
            lane.seconds = round_.seconds(block.processor);
        }
    }

    void processor_lost(int processor) override {
        at(processor).lost = true;
        round_.lost(processor);
    }

    PolicyReport report() const override { return report_; }

  private:
    struct Lane {
        Units load = 0;      ///< of its next task
        Units units = 0;     ///< of its last task; 0: none in this round
        double seconds = 0;  ///< that it took
        bool lost = false;
    };
    Lane& at(int processor) { return lanes_[static_cast<std::size_t>(processor)]; }

    bool everybody_ran() const {
        return std::all_of(lanes_.begin(), lanes_.end(),
                           [](const Lane& l) { return l.lost || l.load == 0 || l.units > 0; });
    }

    /// The times of the last tasks, scaled to the whole load where less was left, are about the same.
    bool within_threshold() const {
        double shortest_s = std::numeric_limits<double>::infinity(), longest_s = 0;
        for (const Lane& lane : lanes_) {
            if (lane.lost || lane.units == 0) continue;
            const double scaled_s = lane.seconds * static_cast<double>(lane.load) / static_cast<double>(lane.units);
            shortest_s = std::min(shortest_s, scaled_s);
            longest_s = std::max(longest_s, scaled_s);
        }
        return longest_s - shortest_s <= kThreshold * longest_s;
    }

    void begin_round(Units remaining) {
        std::vector<Units> shares;
        for (Lane& lane : lanes_) {
            lane.units = 0;
            shares.push_back(lane.load);
        }
        round_.begin(load_, shares,
                     std::max<Units>(0, remaining - std::accumulate(shares.begin(), shares.end(), Units{0})));
    }

    /// A round without work: over when all blocks in flight are done.
    void wait_for_all() {
        balanced_ = false;
        ++report_.rebalances;
        round_.begin(load_, std::vector<Units>(lanes_.size(), 0), load_.units);
    }

    void end_round(double now_s, Units remaining) {
        if (everybody_ran() && within_threshold()) {
            if (report_.probing_seconds == 0) report_.probing_seconds = now_s;
            balanced_ = true;
            for (Lane& lane : lanes_) lane.units = 0;
            return;
        }
        std::vector<double> powers;
        for (const Lane& lane : lanes_)
            powers.push_back(
                lane.lost || lane.units == 0 ? 0 : static_cast<double>(lane.units) / std::max(lane.seconds, 1e-12));
        const double sum = std::accumulate(powers.begin(), powers.end(), 0.0);
        const double units = std::min(round_units_, static_cast<double>(remaining));
        PlannedDistribution distribution{
            now_s, "relative power", {}, now_s + static_cast<double>(remaining) / std::max(sum, 1e-300)};
        for (std::size_t p = 0; p < lanes_.size(); ++p) {
            Lane& lane = lanes_[p];
            // Less than half a granule is nothing: the processor is left out. Of nobody anything is known at first.
            const double part = sum > 0 ? powers[p] / sum : lane.lost ? 0 : 1.0 / static_cast<double>(lanes_.size());
            const bool some = part > 0 && (sum <= 0 || 2 * units * part >= static_cast<double>(load_.granularity));
            lane.load = some ? round_to_granularity(units * part, load_.granularity) : 0;
            distribution.shares_units.push_back(static_cast<double>(lane.load));
        }
        report_.distributions.push_back(distribution);
        begin_round(remaining);
    }

    LoadDescription load_;
    std::vector<Lane> lanes_;
    SynchronisedRound round_;
    PolicyReport report_;
    double round_units_ = 0;  ///< of all loads together
    bool balanced_ = false;
};

}  // namespace

extern const char* const describe_acosta;
const char* const describe_acosta = "synchronised rounds with loads after the relative power, until balanced";

std::unique_ptr<Policy> make_acosta() { return std::make_unique<Acosta>(); }

}  // namespace apportion
