// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/plb_hec/plb_hec_repetition.hpp"

#include <algorithm>
#include <cmath>

#include "policies/shared/block_costs.hpp"

namespace apportion {

void PlbHecRepetition::begin(const LoadDescription& load, bool unlike, PolicyReport& report) {
    load_ = load;
    replay_.conclude(load);
    moving_s_ = 0;
    lateness_.assign(load.processors.size(), {});
    const bool known = load.staying > 0 && replay_.before_s() > 0 && !unlike;
    if (replay_.broken_s() > 0)
        rebalancer_.shares_not_kept();
    else if (!known)
        rebalancer_.forget();
    if (known) {
        const std::vector<double> nowhere(load.processors.size(), -1);
        moving_s_ = moving_seconds(load, nowhere, replay_.units_before());
    }
    if (known && redistribute(report)) return;
    if (load.run == 1 && begin_as_learnt(report)) return;
    replay_.begin(load, known);
    if (!active()) return;
    report.note = "blocks of the run before repeated";
    report.distributions.push_back({0, "distribution kept", replay_.units_before(), replay_.before_s()});
}

/// Whether the data move, for the runs to come.
bool PlbHecRepetition::redistribute(PolicyReport& report) {
    plan_.pose_for_all();
    LoadDescription load = load_;
    for (std::size_t p = 0; p < load.links.size(); ++p)
        if (load.processors[p].own_memory)
            load.links[p] = link_of(models_.in(static_cast<int>(p)), models_.out(static_cast<int>(p)));
    const std::vector<double> before = replay_.units_before(), ends_s = replay_.ends_s();
    std::vector<double> now_s;
    for (int p = 0; p < static_cast<int>(load.processors.size()); ++p)
        now_s.push_back(plan_.time(p).seconds_of(replay_.blocks_before(p)));
    const auto decision = rebalancer_.decide(
        load, {before, ends_s, replay_.repeated_to_the_end(), true},
        [&](std::size_t p, double units) { return plan_.time(static_cast<int>(p)).seconds(units); }, now_s);
    if (!decision.worthwhile) return false;
    const std::vector<Units> shares = whole_shares(decision.shares, load_.granularity);
    std::vector<Units> largest;
    for (std::size_t p = 0; p < shares.size(); ++p) {
        const auto share = static_cast<double>(shares[p]);
        const double count = plan_.time(static_cast<int>(p)).blocks(share).count;
        largest.push_back(round_to_granularity(std::ceil(share / count), load_.granularity));
    }
    replay_.begin(load_, shares, largest, decision.anew);
    ++report.rebalances;
    report.distributions.push_back({0, "redistribution", decision.shares, decision.run_s});
    return true;
}

/// The first run of a process whose data will stay, as those of the process before did: a plan for this run alone would
/// give devices what they are worth while data move, and for the runs to come all would move once more.
bool PlbHecRepetition::begin_as_learnt(PolicyReport& report) {
    const LearntDistribution& learnt = load_.learnt_distribution;
    if (load_.open || learnt.blocks.size() != load_.processors.size()) return false;
    if (load_.runs_expected > 0 && load_.runs_expected <= learnt.runs) return false;  // moving may not pay for fewer
    for (std::size_t p = 0; p < learnt.blocks.size(); ++p)
        if (!learnt.blocks[p].empty() && !models_.curve(static_cast<int>(p))) return false;
    if (!replay_.begin_with(load_, learnt.blocks)) return false;
    rebalancer_.resume(replay_.units_before(), learnt.run_s, learnt.runs);
    report.note = "blocks of the process before repeated";
    report.distributions.push_back({0, "distribution kept", replay_.units_before(), learnt.run_s});
    return true;
}

std::optional<Units> PlbHecRepetition::next(int processor, double now_s, const Progress& progress) {
    const std::optional<Units> units = replay_.next(processor, progress);
    if (units != 0 || !somebody_overdue(now_s, progress)) return units;
    replay_.stop();
    return std::nullopt;
}

/// What a block should take: as long as one of its size in the run before, or as the models say, unless these have
/// learnt meanwhile that the processor has changed.
double PlbHecRepetition::expected_s(int processor, Units units) const {
    const double before_s = replay_.longest_s(processor, units);
    const FittedCurve* curve = models_.curve(processor);
    if (!curve || (before_s > 0 && lateness_[static_cast<std::size_t>(processor)].changed)) return before_s;
    return std::max(before_s, curve->seconds(static_cast<double>(units)));
}

void PlbHecRepetition::finished(const FinishedBlock& block) {
    if (!active()) return replay_.finished(block);
    Lateness& its = lateness_[static_cast<std::size_t>(block.processor)];
    its.late_s = std::max(0.0, its.late_s + block.busy_s - expected_s(block.processor, block.units));
    replay_.finished(block);
    if (its.changed && its.late_s >= moving_s_) replay_.stop();
}

bool PlbHecRepetition::changed(int processor) {
    Lateness& its = lateness_[static_cast<std::size_t>(processor)];
    its.changed = true;
    if (its.late_s >= moving_s_) replay_.stop();
    return active();
}

/// Whether a processor has changed, or its block takes twice as long as it should, and its blocks were late for as long
/// as it takes to move data: what was kept for it is for others then. So waiting and moving together take at most twice
/// as long as the better of the two.
bool PlbHecRepetition::somebody_overdue(double now_s, const Progress& progress) const {
    for (std::size_t p = 0; p < load_.processors.size(); ++p) {
        const int processor = static_cast<int>(p);
        const auto blocks = progress.in_flight(processor);
        if (blocks.empty() || blocks.front().begun_s < 0 || !models_.curve(processor)) continue;
        const double ran_s = now_s - std::max(blocks.front().begun_s, plan_.last_end_s(processor));
        const double expected_s = this->expected_s(processor, blocks.front().units);
        const double late_s = lateness_[p].late_s + std::max(0.0, ran_s - expected_s);
        if ((lateness_[p].changed || ran_s >= kTwice * expected_s) && late_s >= moving_s_) return true;
    }
    return false;
}

}  // namespace apportion
