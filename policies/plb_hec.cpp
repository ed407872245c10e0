// SPDX-License-Identifier: LGPL-2.1-or-later
//
// plb-hec, improved: how big the next block of a processor is, from time functions learnt while the load runs
// (after Sant'Ana, Camargo, Cordeiro: PLB-HeC, section III; as published: plb_hec_published.cpp).
//
// No phases and no barriers. A processor without a sample gets one probe; from then on every block is the first of the
// blocks that the equal-finish plan for everything left gives it, with all blocks in flight accounted for. So probes
// are work, a better model corrects the next block, and the last blocks shrink until all finish together.
//
// While little is known, little is risked. Where there are devices, which may be much faster, one core of a kind tries
// the smallest block, and the others wait for what that tells. A device's first blocks may be larger. Others compute
// again in the end what takes too long (engine/recovery).
//
// A share becomes several blocks. Each pays its fixed costs again (launch, filling the device, streaming what does
// not fit), but the last one alone is as late as its prediction is wrong: plb_hec_plan.hpp has the balance. While a
// processor has run blocks of one size only, nobody knows its fixed costs: its own next block is sized as if it had
// none, which is safe, and the plan for the others as if a device had much of it, which keeps the common finish from
// being overrated.
//
// All this is for units that are alike. Where they are not, blocks are those of adaptive factoring (unlike_units.hpp).
#include <algorithm>
#include <cmath>
#include <functional>

#include "policies/plb_hec/plb_hec_models.hpp"
#include "policies/plb_hec/plb_hec_plan.hpp"
#include "policies/plb_hec/plb_hec_repetition.hpp"
#include "policies/plb_hec/unlike_units.hpp"
#include "policies/shared/redistribution.hpp"
#include "policies/shared/solver_report.hpp"

namespace apportion {

namespace {

constexpr double kAlignment = 0.0625;  // of a block: blocks are multiples of the largest power of two up to that part
constexpr double kGrowth = 12;         // a block is at most this multiple of the largest measured one
constexpr double kSecond = 0.25;       // of a share: the block after those of one size
constexpr int kMostParts = 20;         // a share becomes at most so many blocks: runs of days would have millions
constexpr double kFullRest = 0.5;      // of the memory that the blocks after it would fill, at most: it may grow
constexpr double kWorthwhile_s = 0.2;  // a hundred times what IPOPT takes: distributions that predict less need none

class PlbHecImproved final : public Policy {
  public:
    void begin(const LoadDescription& load) override {
        load_ = load;
        report_ = {};
        plan_.begin(load);
        tried_.resize(load.processors.size());
        unlike_.begin(load, by_size());
        const bool known_before = all_known_ = models_.begin(load);
        unseen_ = load.run == 1 && !known_before;
        repetition_.begin(load, unlike_.found(), report_);
        decision_ = known_before ? "models of the previous run" : "first fit";
    }

    Units next_block(int processor, double now_s, const Progress& progress) override {
        const bool idle = progress.in_flight(processor).empty();
        trial_ = false;
        const Units units = next_units(processor, now_s, progress);
        if (idle) plan_.answered(processor, units);
        if (answered_trial() && units > 0) unlike_.tries(processor);
        return units;
    }

    /// Only where there are devices, which may be so much faster than cores or than each other.
    bool answered_trial() const override { return trial_ && has_devices(); }

    void units_added(Units) override {
        for (std::size_t p = 0; p < load_.processors.size(); ++p) plan_.had_nothing(static_cast<int>(p));
    }

    void block_finished(const FinishedBlock& block) override {
        const bool known = models_.curve(block.processor) != nullptr;
        const bool differed = models_.sizes_differ(block.processor);
        plan_.block_ended(block);
        repetition_.finished(block);
        if (unlike_.finished(block, models_.at_most_s(block.processor, block.units))) return;
        if (models_.add(block) == SampleVerdict::changed && !repetition_.as_before(block) &&
            !repetition_.changed(block.processor)) {
            ++report_.rebalances;
            decision_ = "rebalance";
            plan_.outdate();
        }
        if (!known || differed != models_.sizes_differ(block.processor)) plan_.outdate(block.processor);
    }

    void block_returned(const ReturnedBlock& block) override {
        models_.add_return(block);
        repetition_.returned(block);
        plan_.outdate(block.processor);
    }

    std::vector<OwnedUnits> owned() const override { return repetition_.repeated(); }

    /// Beside devices, which may be much faster. Units beside each other cost about the same: cores go on beside what
    /// they were measured with.
    bool begins_at_end(int processor) const override {
        return !at(processor).own_memory && few_granules() && has_devices();
    }

    void late_block_ended(int processor, Units units, double busy_s) override {
        models_.add({.processor = processor, .units = units, .busy_s = busy_s, .data_there = true});
        unlike_.late_block_ended(processor, units, busy_s);
        plan_.outdate();
    }

    void processor_lost(int processor) override {
        plan_.lose(processor);
        unlike_.set_lost(processor, true);
        repetition_.lost(processor);
        decision_ = "processor lost";
    }

    void processor_is_back(int processor) override {
        plan_.take_back(processor);
        plan_.had_nothing(processor);
        unlike_.set_lost(processor, false);
        decision_ = "processor back";
    }

    PolicyReport report() const override {
        PolicyReport report = report_;
        models_.report(report);
        if (report.note.empty() && unlike_.found()) report.note = "units unlike: blocks by adaptive factoring";
        if (!load_.open) report.unit_costs = unlike_.learnt(by_size());
        report_solver(plan_.solver(), report);
        return report;
    }

  private:
    Units next_units(int processor, double now_s, const Progress& progress) {
        if (const auto repeated = repetition_.next(processor, now_s, progress)) return *repeated;
        const bool idle = progress.in_flight(processor).empty();
        if (!models_.curve(processor)) {
            if (!idle) return 0;
            if (!at(processor).own_memory && kind_is_tried(processor, progress)) return 0;
            const Units units = first_block(processor, now_s, progress);
            if (units == 0) return 0;
            plan_.outdate();
            all_known_ = false;
            tried_[index(processor)] = trial_ = true;
            if (!decision_) decision_ = "processor tried";
            return units;
        }
        if (unlike_.found()) {
            if (unlike_.measured(processor)) return unlike_.next_block(processor, now_s, progress);
            const Units first = plan_.first_units(processor);
            const double unit_s = kTwice * models_.curve(processor)->seconds(granule()) / granule();
            return idle && !unlike_.outlasts_others(processor, unit_s, now_s, progress) ? first : 0;
        }
        if (!idle && !models_.tells_larger(processor)) return 0;
        if (idle && !at(processor).own_memory && unlike_.doubts_trial(processor)) {
            plan_.outdate();
            trial_ = true;
            return plan_.first_units(processor);
        }
        plan(now_s, progress);
        if (idle && plan_.share(processor) < granule() && plan_.some_unshared()) {
            plan_.outdate();
            plan(now_s, progress);
        }
        if (plan_.share(processor) > 0) plan_.take_rests(processor);
        const double share = plan_.share(processor);
        if (share <= 0) return 0;
        const double granule_s = plan_.time(processor).kernel_seconds(granule()), left_s = plan_.finish_s() - now_s;
        if (is_uninsured(processor) && unlike_.may_be_too_dear(granule_s, left_s, now_s, progress)) return 0;
        const bool untried = plan_.is_untried(processor);
        const double block = untried ? 0 : block_of(processor, share, now_s, progress);
        const Units units = untried ? plan_.first_units(processor) : aligned(processor, block, now_s, progress);
        trial_ = untried;
        plan_.gave(processor, units, now_s);
        if (!untried && share - block < granule()) plan_.leave_rest(processor);
        return units;
    }

    static std::size_t index(int processor) { return static_cast<std::size_t>(processor); }
    const Processor& at(int processor) const { return load_.processors[index(processor)]; }

    /// Seconds; 0: nothing is known of it.
    std::function<double(int, Units)> by_size() const {
        return [this](int processor, Units units) {
            const FittedCurve* curve = models_.curve(processor);
            return curve ? curve->seconds(static_cast<double>(units)) : 0;
        };
    }
    double granule() const { return static_cast<double>(load_.granularity); }
    bool has_devices() const { return std::ranges::any_of(load_.processors, &Processor::own_memory); }

    /// Whether a core of its kind computes its first block, of this run or one before, where there are devices: these
    /// may be so much faster that it outlasts the run. One is enough to know, which others take over then.
    bool kind_is_tried(int processor, const Progress& progress) const {
        bool devices = false, tried = false;
        for (std::size_t p = 0; p < load_.processors.size(); ++p) {
            const int other = static_cast<int>(p);
            const bool lost = plan_.lost(other);
            devices = devices || (load_.processors[p].own_memory && !lost);
            tried = tried || (load_.processors[p].kind == at(processor).kind && !models_.curve(other) && tried_[p] &&
                              (lost || !progress.in_flight(other).empty()));
        }
        return devices && tried;
    }

    /// A core whose block nobody takes over, in a run of which nobody knows what its units cost.
    bool is_uninsured(int processor) const { return unseen_ && !at(processor).own_memory && !plan_.alone(processor); }

    /// A share has less than kMostParts, so that dear units cannot be in as many blocks.
    bool few_granules() const { return load_.units / load_.granularity / std::ssize(load_.processors) < kMostParts; }

    /// Whether there are devices, and the fixed costs of none are told from the rest.
    bool only_unknown_devices() const {
        bool devices = false;
        for (int p = 0; p < static_cast<int>(load_.processors.size()); ++p) {
            if (!at(p).own_memory || plan_.lost(p)) continue;
            if (models_.sizes_differ(p)) return false;
            devices = true;
        }
        return devices;
    }

    /// The next block of a share; 0: better none now.
    double block_of(int processor, double share, double now_s, const Progress& progress) const {
        double block = models_.tells_larger(processor) ? planned_block(processor, share, now_s, progress)
                                                       : second_block(processor, share, now_s);
        if (share - block < granule()) block = share;
        const bool to_be_checked = models_.to_be_checked(processor) && models_.sizes_differ(processor);
        if (to_be_checked || models_.suspected(processor)) block = part_to_check(processor, share, block);
        return block;
    }

    Units first_block(int processor, double now_s, const Progress& progress);
    Units aligned(int processor, double block, double now_s, const Progress& progress) const;
    void plan(double now_s, const Progress& progress);
    double second_block(int processor, double share, double now_s) const;
    double planned_block(int processor, double share, double now_s, const Progress& progress) const;
    double part_to_check(int processor, double share, double block) const;

    LoadDescription load_;
    PlbHecModels models_;
    PlbHecPlan plan_{models_};
    PlbHecRepetition repetition_{models_, plan_};
    UnlikeUnits unlike_;
    PolicyReport report_;
    std::vector<bool> tried_;         ///< was given a first block, in any run
    bool trial_ = false;              ///< what was answered last
    bool unseen_ = false;             ///< no run has computed the load's units
    bool all_known_ = false;          ///< who computes, at least
    const char* decision_ = nullptr;  ///< why the next distribution is one for IPOPT and the report
};

/// A first block is no more than the link brings before others end everything; 0: none now. While nobody knows when
/// that is, a device whose link needs longer for its block than the run has lasted, and than it takes until it is asked
/// again, waits for what cores tell.
Units PlbHecImproved::first_block(int processor, double now_s, const Progress& progress) {
    const Units first = plan_.first_units(processor);
    if (!at(processor).own_memory || load_.initial_block_chosen || index(processor) >= load_.links.size()) return first;
    const LoadDescription::Link& link = load_.links[index(processor)];
    const double latency_s = link.latency_s(), seconds_per_unit = link.seconds_per_unit();
    if (!(seconds_per_unit > 0)) return first;
    bool known = false, cores = false;
    for (int p = 0; p < static_cast<int>(load_.processors.size()); ++p) {
        known = known || (models_.sizes_differ(p) && !plan_.lost(p));
        cores = cores || (!at(p).own_memory && !plan_.lost(p));
    }
    const double link_s = latency_s + seconds_per_unit * static_cast<double>(first);
    if (!known) return cores && link_s > std::max(asked_again_after_s(now_s), now_s) ? 0 : first;
    plan_.make(now_s, progress);
    const double granules = std::floor((plan_.finish_s() - now_s - latency_s) / (seconds_per_unit * granule()));
    return static_cast<Units>(std::clamp(granules * granule(), 0.0, static_cast<double>(first)));
}

/// The block as a multiple of the largest power of two granules that is at most `alignment` of it: libraries are fast
/// at sizes that fit their tiles, vectors and radices. What that cuts off others compute, and a smaller power serves
/// where that would take clearly longer.
Units PlbHecImproved::aligned(int processor, double block, double now_s, const Progress& progress) const {
    if (block <= 0) return 0;
    const Units remaining = progress.remaining(), room = progress.room(processor);
    block = std::min(block, static_cast<double>(room));
    const double granules = std::max(1.0, std::floor(block / granule() * (1 + 1e-9)));
    const bool last = plan_.share(processor) - block < granule();
    const double by_s = plan_.finish_s() + kLeastGain * (plan_.finish_s() - now_s);
    double step = std::exp2(std::floor(std::log2(std::max(1.0, granules * kAlignment))));
    Units units = 0;
    for (;; step /= 2) {
        double steps = std::round(granules / step);
        if (steps * step * granule() > static_cast<double>(room)) --steps;
        units = round_to_granularity(steps * step * granule(), load_.granularity);
        if (step <= 1 || !last) break;
        if (plan_.end_s(processor, static_cast<double>(units)) <= by_s &&
            plan_.others_end(processor, static_cast<double>(remaining - units), by_s))
            break;
    }
    return static_cast<double>(remaining - units) < step * granule() ? remaining : units;
}

/// The plan for everything not handed out, by IPOPT where its time is little beside the run's.
void PlbHecImproved::plan(double now_s, const Progress& progress) {
    plan_.make(now_s, progress);
    if (!all_known_) {
        for (std::size_t p = 0; p < load_.processors.size(); ++p)
            if (!models_.curve(static_cast<int>(p)) && !progress.in_flight(static_cast<int>(p)).empty()) return;
        all_known_ = true;
        report_.probing_seconds = now_s;
    }
    if (!decision_) return;
    plan_.outdate();
    plan_.make(now_s, progress);
    if (plan_.finish_s() - now_s < kWorthwhile_s)
        ++report_.bisections;
    else
        plan_.refine();
    report_.distributions.push_back({now_s, decision_, plan_.shares(), plan_.finish_s()});
    decision_ = nullptr;
}

/// After blocks of one size: what the processor would do until the common finish if it had no fixed costs. Nobody waits
/// for one that computes alone: a small block is no safer, and costs what is fixed once more. Of few granules, of which
/// nobody knows what they cost, a core computes no more at once than it has computed.
double PlbHecImproved::second_block(int processor, double share, double now_s) const {
    if (plan_.alone(processor)) return share / plan_.time(processor).blocks(share).count;
    const FittedCurve& curve = *models_.curve(processor);
    const double measured = curve.largest_measured();
    // Another size tells fixed costs; whether units elsewhere in the load cost as much it does not.
    double block = std::min(share, std::max(kSecond * share, kTwice * measured));
    if (at(processor).own_memory) {
        const double measured_s = models_.in(processor).seconds(measured) + curve.seconds(measured) +
                                  models_.out(processor).seconds(measured);
        const double proportional = measured * (plan_.finish_s() - now_s) / measured_s;
        block = std::min(share, std::max(measured, proportional));
    }
    if (is_uninsured(processor) && few_granules())
        block = std::min(block, std::max(granule(), unlike_.computed_units(processor)));
    return std::min(block, measured * kGrowth);
}

/// The first of the blocks that a share becomes; 0: better when the block in flight is done.
double PlbHecImproved::planned_block(int processor, double share, double now_s, const Progress& progress) const {
    const bool idle = progress.in_flight(processor).empty();
    const FittedCurve& curve = *models_.curve(processor);
    const PipelineTime& time = plan_.time(processor);
    const PipelineTime::Blocks blocks = time.blocks(share);
    double block = share / blocks.count;
    const double error_s = plan_.error_s(processor, block);
    if (blocks.count == 1 || (!blocks.overlapped && share <= blocks.largest)) {
        const double parts = error_s / plan_.worthwhile_error_s();
        const double most = kMostParts / blocks.count;
        constexpr double kWorthwhile = 1.4;  // two cost as much as one at the root of 2
        if (parts > kWorthwhile && most >= 2) block /= std::clamp(parts, 2.0, most);
    } else if (!blocks.overlapped) {
        // Large ones first: the last one corrects what the others were wrong by.
        block = std::max(block, share - kFullRest * (blocks.count - 1) * blocks.largest);
    }
    block = std::min(block, curve.largest_measured() * kGrowth);
    if (is_uninsured(processor))
        block = std::min(block, unlike_.insured(processor, block, curve.seconds(0) + plan_.waiting_s(), by_size()));
    // While of no device fixed costs are known, nobody knows how long the first run will last: it may double.
    if (!at(processor).own_memory && load_.run == 1 && only_unknown_devices())
        block = std::min(block, std::max(granule(), block * now_s / time.kernel_seconds(block)));
    if (!idle) {
        // Early only to hide a transfer, and if that is worth more than to know better.
        const bool fits = static_cast<double>(progress.room(processor)) >= block;
        const bool last = blocks.count == 1 && error_s > models_.in(processor).seconds(block);
        if (!blocks.overlapped || !fits || last) return 0;
        // A node may become slower, and all that is in flight is late then: no more than completes a block, or half of
        // one.
        if (models_.tells_fixed_costs(processor)) {
            double computes = 0;
            for (const BlockInFlight& other : progress.in_flight(processor))
                computes += static_cast<double>(other.units);
            block = std::max(block - computes, block / kTwice);
        }
    }
    return block;
}

/// What earlier processes learnt may be wrong by now, and who took much longer or shorter for its last block than it
/// should may have changed: a part of the share tells, where it costs little, before more is handed out (as in
/// guarded_policy.cpp). What that costs all of its kind, who check at once, all make up for. Where one size was learnt,
/// the next block, of another size, tells as much.
double PlbHecImproved::part_to_check(int processor, double share, double block) const {
    constexpr double kPart = 0.125, kMaxCost = 0.035;  // of the share; of the makespan
    const PipelineTime& time = plan_.time(processor);
    const double wanted = kPart * share / (models_.suspected(processor) ? 2 : 1);
    const double part = std::max({wanted, models_.curve(processor)->smallest_measured(), granule()});
    if (part >= block) return block;
    const double cost_s = time.kernel_seconds(part) + time.kernel_seconds(share - part) - time.kernel_seconds(share);
    double checking = share;
    for (int p = 0; p < static_cast<int>(load_.processors.size()) && !models_.suspected(processor); ++p)
        if (p != processor && at(p).kind == at(processor).kind) checking += plan_.shares()[index(p)];
    return cost_s * checking / plan_.units() <= kMaxCost * plan_.finish_s() ? part : block;
}

}  // namespace

extern const PolicyEntry plb_hec_policy{
    .name = "plb-hec",
    .description = "time functions learnt while running, next block by the equal-finish plan",
    .make = make_policy<PlbHecImproved>};

}  // namespace apportion
