// SPDX-License-Identifier: LGPL-2.1-or-later
//
// hdss: heterogeneous dynamic self-scheduling (Belviranli, Bhuyan, Gupta 2013, as described by Sant'Ana, Camargo,
// Cordeiro: PLB-HeC, sections II and V, which compares with it).
//
// What the paper says: in the adaptive phase each processor gets tasks of several sizes that are no optimal ones, its
// speeds are fitted by a logarithmic curve, and the fit gives its weight, one number that does not change any more. In
// the completion phase what remains is divided by these weights, in large blocks first that become smaller.
//
// Where it is ambiguous: the sizes are 1, 2, 4 and 8 initial blocks, the same for all processors, but at most 20 % of
// the load together (PLB-HeC's cap, section III.B); no processor waits between these, and all wait for the last one's
// weight, which is the idleness that section V.A.c describes; the weight is the fitted speed at the largest size that
// the processor ran (the logarithm grows without bound beyond); a block of the completion phase is half of the
// processor's part of what remains (factoring: Hummel et al. 1996), and at least the initial block as long as there is
// that much. A load that runs again keeps the weights; a processor without one, because it was lost before, is probed
// then.
//
// Differs from the paper: the speed is that of the task with its transfer to the processor, in units per second.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "policies/policy.hpp"

namespace apportion {

namespace {

constexpr int kProbes = 4;
constexpr double kProbedShare = 0.2;
constexpr double kFactoring = 0.5;

/// s(x) = a + b ln x by least squares on the measured speeds.
class LogarithmicSpeed {
  public:
    void add(double units, double seconds) {
        if (!(units > 0) || !(seconds > 0)) return;
        const double x = std::log(units), s = units / seconds;
        ++count_, x_ += x, s_ += s, xx_ += x * x, xs_ += x * s;
        largest_ = std::max(largest_, units);
        least_ = count_ == 1 ? s : std::min(least_, s);
    }
    int points() const { return count_; }
    double slope() const {
        const double spread = count_ * xx_ - x_ * x_;
        return spread > 1e-12 * count_ * xx_ ? (count_ * xs_ - x_ * s_) / spread : 0;
    }
    double intercept() const { return count_ > 0 ? (s_ - slope() * x_) / count_ : 0; }
    double largest() const { return largest_; }
    /// The speed at the largest measured size; a fit that falls below all measured speeds is not believed.
    double weight() const { return count_ > 0 ? std::max(least_, intercept() + slope() * std::log(largest_)) : 0; }

  private:
    int count_ = 0;
    double x_ = 0, s_ = 0, xx_ = 0, xs_ = 0;
    double largest_ = 0, least_ = 0;
};

class Hdss final : public Policy {
  public:
    void begin(const LoadDescription& load) override {
        const bool again = completing_ && same_processors(load_.processors, load.processors);
        load_ = load;
        report_ = {};
        smallest_ = round_to_granularity(static_cast<double>(load.initial_block), load.granularity);
        if (!again) {
            lanes_.assign(load.processors.size(), {});
        }
        completing_ = again;
        for (Lane& lane : lanes_) {
            lane.lost = false;
            if (lane.speed.points() > 0) continue;
            lane.probes = 0;
            lane.probed = 0;
            completing_ = false;
        }
        if (again) report_.note = "weights of the previous run";
    }

    Units next_block(int processor, double now_s, const Progress& progress) override {
        Lane& lane = lanes_[static_cast<std::size_t>(processor)];
        if (lane.lost) return 0;
        if (!completing_) {
            if (!progress.in_flight(processor).empty()) return 0;
            if (const Units probe = next_probe(lane); probe > 0) return probe;
            if (!all_probed(progress)) return 0;
            completing_ = true;
            report_.probing_seconds = now_s;
            report_distribution(now_s, progress.remaining());
        }
        const double weights = sum_of_weights();
        const double part = weights > 0 ? lane.speed.weight() / weights : 1.0 / static_cast<double>(lanes_.size());
        const Units block =
            round_to_granularity(kFactoring * part * static_cast<double>(progress.remaining()), load_.granularity);
        return std::max(block, smallest_);
    }

    void block_finished(const FinishedBlock& block) override {
        if (completing_) return;
        Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
        lane.speed.add(static_cast<double>(block.units), block.occupied_s());
    }

    void processor_lost(int processor) override { lanes_[static_cast<std::size_t>(processor)].lost = true; }

    PolicyReport report() const override;

  private:
    struct Lane {
        int probes = 0;    ///< given
        Units probed = 0;  ///< units of these
        bool lost = false;
        LogarithmicSpeed speed{};
    };

    /// 0: enough probes, or enough of the load spent on them. The first one is always given.
    Units next_probe(Lane& lane) const {
        if (lane.probes >= kProbes) return 0;
        const Units wanted =
            round_to_granularity(std::exp2(lane.probes) * static_cast<double>(load_.initial_block), load_.granularity);
        const double budget = kProbedShare * static_cast<double>(load_.units) / static_cast<double>(lanes_.size());
        const double left = budget - static_cast<double>(lane.probed);
        const bool last = static_cast<double>(wanted) > left;
        if (last && lane.probes > 0 && left < static_cast<double>(wanted) / 4) {
            lane.probes = kProbes;
            return 0;
        }
        const Units units = last && lane.probes > 0 ? round_to_granularity(left, load_.granularity) : wanted;
        lane.probes = last ? kProbes : lane.probes + 1;
        lane.probed += units;
        return units;
    }

    bool all_probed(const Progress& progress) const {
        for (std::size_t p = 0; p < lanes_.size(); ++p)
            if (!lanes_[p].lost && (!progress.in_flight(static_cast<int>(p)).empty() || lanes_[p].probes < kProbes))
                return false;
        return true;
    }

    double sum_of_weights() const {
        double sum = 0;
        for (const Lane& lane : lanes_) sum += lane.lost ? 0 : lane.speed.weight();
        return sum;
    }

    void report_distribution(double now_s, Units remaining) {
        const double weights = std::max(sum_of_weights(), 1e-300), units = static_cast<double>(remaining);
        PlannedDistribution distribution{now_s, "weights", {}, now_s + units / weights};
        for (const Lane& lane : lanes_)
            distribution.shares_units.push_back(lane.lost ? 0 : units * lane.speed.weight() / weights);
        report_.distributions.push_back(distribution);
    }

    LoadDescription load_;
    std::vector<Lane> lanes_;
    PolicyReport report_;
    Units smallest_ = 1;
    bool completing_ = false;
};

PolicyReport Hdss::report() const {
    PolicyReport report = report_;
    for (const Lane& lane : lanes_) {
        PolicyReport::Model model;
        model.samples = lane.speed.points();
        if (model.samples > 0)
            model.formula = fmt::format("x / ({:.4g} + {:.4g} ln x)", lane.speed.intercept(), lane.speed.slope());
        report.models.push_back(model);
    }
    return report;
}

}  // namespace

extern const PolicyEntry hdss_policy{
    .name = "hdss",
    .description = "weights from logarithmic fits of a few probes, then shrinking blocks by weight",
    .make = make_policy<Hdss>};

}  // namespace apportion
