// SPDX-License-Identifier: LGPL-2.1-or-later
//
// acosta: synchronised rounds whose loads follow the relative power of the processors until they are balanced (Acosta,
// Blanco, Almeida 2012, as described by Sant'Ana, Camargo, Cordeiro: PLB-HeC, section II, which compares with it).
//
// What the paper says: every processor records the time of its last task; when these differ by more than a threshold of
// the user's, relative powers RP (load over time) and their sum SRP give the next loads; the processors synchronise at
// each iteration until they reach an equilibrium, which they approach asymptotically.
//
// Where it is ambiguous: the loads of the first round are equal (one initial block each), and a round's total stays
// what it was then, except that the last rounds share what is left; the threshold is 10 % of the longest time (as
// PLB-HeC's, section III.D); once within it, processors take blocks of their load without waiting for each other, and
// synchronise again when their times differ by more, or one is lost; the time of a task includes its transfer to the
// processor.
//
// A processor's relative power stays that of its last task, in the next run as well, because the shared vector of the
// paper keeps it. So a load that runs again begins with the loads that follow from it. A processor whose
// load is too small a part of a granule is left out until the run ends; the next one begins with a granule for all, so
// that none is left out for what was measured once. A task of less than half of its processor's load, as at the end of
// a run, tells nothing.
//
// Good for: a yardstick. Speeds are those of the size that was run last, so that fixed costs slow the convergence, and
// every round waits for its slowest processor.
#include <algorithm>
#include <limits>
#include <numeric>

#include "policies/shared/redistribution.hpp"
#include "policies/shared/synchronised_round.hpp"

namespace apportion {

namespace {

constexpr double kThreshold = 0.1;

class Acosta final : public Policy {
  public:
    void begin(const LoadDescription& load) override {
        const bool again = load.units == load_.units && load.granularity == load_.granularity &&
                           load.initial_block == load_.initial_block && load.processors == load_.processors;
        load_ = load;
        report_ = {};
        round_ = {};
        balanced_ = false;
        first_ = round_to_granularity(static_cast<double>(load.initial_block), load.granularity);
        if (!again) lanes_.assign(load.processors.size(), {});
        for (Lane& lane : lanes_) lane.lost = false;
        set_loads();
        for (Lane& lane : lanes_) lane.load = std::max(lane.load, load.granularity);
        begin_round(load.units);
    }

    Units next_block(int processor, double now_s, const Progress& progress) override {
        if (!balanced_ && round_.over(progress)) end_round(now_s, progress.remaining());
        return balanced_ ? at(processor).load : round_.next(processor, progress);
    }

    void block_finished(const FinishedBlock& block) override {
        Lane& lane = at(block.processor);
        Units whole = lane.load;
        if (balanced_) {
            lane.units = block.units;
            lane.seconds = block.occupied_s();
            whole = std::min(whole, load_.processors[static_cast<std::size_t>(block.processor)].memory_units);
        } else {
            round_.finished(block);
            lane.units = round_.units(block.processor);
            lane.seconds = round_.seconds(block.processor);
        }
        if (lane.power <= 0 || lane.units >= whole / 2)
            lane.power = static_cast<double>(lane.units) / std::max(lane.seconds, 1e-12);
        if (balanced_ && everybody_ran() && !within_threshold()) wait_for_all();
    }

    void processor_lost(int processor) override {
        at(processor).lost = true;
        at(processor).load = 0;
        round_.lost(processor);
        if (balanced_) wait_for_all();
    }

    PolicyReport report() const override { return report_; }

  private:
    struct Lane {
        Units load = 0;      ///< of its next task, where as much is left
        Units units = 0;     ///< of its last task; 0: none in this round
        double seconds = 0;  ///< that it took
        double power = 0;    ///< relative power; 0: not known
        bool lost = false;
    };
    Lane& at(int processor) { return lanes_[static_cast<std::size_t>(processor)]; }

    bool everybody_ran() const {
        return std::ranges::all_of(lanes_, [](const Lane& l) { return l.load == 0 || l.units > 0; });
    }

    /// The times of the last tasks, scaled to the whole load where less was left, are about the same.
    bool within_threshold() const {
        double shortest_s = std::numeric_limits<double>::infinity(), longest_s = 0;
        for (const Lane& lane : lanes_) {
            if (lane.load == 0 || lane.units == 0) continue;
            const double scaled_s = lane.seconds * static_cast<double>(lane.load) / static_cast<double>(lane.units);
            shortest_s = std::min(shortest_s, scaled_s);
            longest_s = std::max(longest_s, scaled_s);
        }
        return longest_s > 0 && longest_s - shortest_s <= kThreshold * longest_s;
    }

    double sum_of_powers() const {
        double sum = 0;
        for (const Lane& lane : lanes_) sum += lane.lost ? 0 : lane.power;
        return sum;
    }

    /// By the powers; a processor without one gets an initial block.
    void set_loads() {
        const double sum = sum_of_powers();
        const double total = std::min(static_cast<double>(first_) * static_cast<double>(lanes_.size()),
                                      static_cast<double>(load_.units));
        std::vector<double> parts;
        for (const Lane& lane : lanes_) parts.push_back(lane.lost || sum <= 0 ? 0 : total * lane.power / sum);
        const std::vector<Units> whole = whole_shares(parts, load_.granularity);
        for (std::size_t p = 0; p < lanes_.size(); ++p) {
            Lane& lane = lanes_[p];
            lane.load = !lane.lost && lane.power <= 0 ? first_ : whole[p];
        }
    }

    /// Returns the shares: the loads, or parts of what is left.
    std::vector<Units> begin_round(Units remaining) {
        std::vector<double> parts;
        for (Lane& lane : lanes_) {
            lane.units = 0;
            parts.push_back(static_cast<double>(lane.load));
        }
        const double sum = std::accumulate(parts.begin(), parts.end(), 0.0), left = static_cast<double>(remaining);
        if (sum > left)
            for (double& units : parts) units *= left / sum;
        std::vector<Units> shares = whole_shares(parts, load_.granularity);
        round_.begin(load_, shares, remaining);
        return shares;
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
        set_loads();
        const std::vector<Units> shares = begin_round(remaining);
        const double end_s = now_s + static_cast<double>(remaining) / std::max(sum_of_powers(), 1e-300);
        report_.distributions.push_back({now_s, "relative power", {shares.begin(), shares.end()}, end_s});
    }

    LoadDescription load_;
    std::vector<Lane> lanes_;
    SynchronisedRound round_;
    PolicyReport report_;
    Units first_ = 1;  ///< load of a processor that nothing is known of
    bool balanced_ = false;
};

}  // namespace

extern const PolicyEntry acosta_policy{
    .name = "acosta",
    .description = "synchronised rounds with shares proportional to relative power, until balanced",
    .make = make_policy<Acosta>};

}  // namespace apportion
