// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/guarded_policy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "policies/shared/block_costs.hpp"

namespace apportion {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kPart = 0.125;          // of a first block, to see whether the record is right
constexpr double kNextPart = 0.5;        // of that, where it was not: another size tells the fixed costs
constexpr double kMaxCheckCost = 0.035;  // of the check, in parts of the planned makespan
constexpr double kClearFactor = 1.3;     // between recorded and real times, and planned and real makespans
constexpr int kContradiction = 2;        // so many wrong blocks of one processor, or one on each of two
constexpr double kLate = 0.05;           // of the planned makespan: no spike makes a whole block so late

}  // namespace

GuardedPolicy::GuardedPolicy(std::unique_ptr<Policy> planned, const PolicyEntry& adaptive,
                             const std::vector<PiecewiseLinear>& functions, std::vector<LoadDescription::Link> links)
    : planned_(std::move(planned)), adaptive_(adaptive), functions_(functions), links_(std::move(links)) {}

void GuardedPolicy::begin(const LoadDescription& load) {
    choose(load);
    load_ = load;
    load_.links = links_;
    lanes_.assign(load.processors.size(), {});
    finished_.clear();
    policy().begin(load);
    if (fell_back_) return;
    const auto distributions = planned_->report().distributions;
    planned_s_ = distributions.empty() ? 0 : distributions.back().predicted_end_s;
}

/// By which of the two the run goes that begins.
void GuardedPolicy::choose(const LoadDescription& next) {
    if (finished_units_ > 0 && finished_units_ == load_.units) {
        const double run_s = end_s_ - begin_s_;
        (fell_back_first_ ? fallback_run_s_ : planned_run_s_) = run_s;
        const bool data_arrived = next.staying > load_.staying;  // those that stay: no later run waits for them
        if (!fallback_ && !data_arrived && planned_s_ > 0 && run_s > kClearFactor * planned_s_) fall_back();
    }
    begin_s_ = kNever;
    end_s_ = 0;
    finished_units_ = 0;
    fell_back_first_ = fell_back_ = fallback_ && (fallback_run_s_ <= 0 || fallback_run_s_ <= planned_run_s_);
}

/// Whether so many more seconds of a processor with a block of `block_s` are a price for knowing.
bool GuardedPolicy::affordable(double seconds, double block_s) const {
    return seconds <= kMaxCheckCost * std::max(planned_s_, block_s);
}

/// What is handed out of a first block of `units`; all of it where a part would cost too much.
Units GuardedPolicy::part_to_check(std::size_t processor, Units units) const {
    const Lane& lane = lanes_[processor];
    const PiecewiseLinear& function = functions_[processor];
    const double wanted = lane.wrong > 0 ? kNextPart * kPart * static_cast<double>(lane.whole)
                                         : std::max(kPart * static_cast<double>(units), function.range().smallest);
    const Units part = round_to_granularity(wanted, load_.granularity);
    if (part >= units) return units;
    if (lane.wrong > 0) return part;  // more of a block whose end is not known would cost more than any part
    const double whole_s = function.seconds(static_cast<double>(units));
    const double cut_s = function.seconds(static_cast<double>(part)) +
                         function.seconds(static_cast<double>(units - part)) + in_s(load_, processor, units - part);
    return affordable(cut_s - whole_s, whole_s) ? part : units;
}

/// A block beside one that has not told yet whether the record is right waits, if its transfer is no great loss.
bool GuardedPolicy::can_wait(std::size_t processor, Units units) const {
    const Lane& lane = lanes_[processor];
    if (lane.cut || lane.wrong > 0) return true;
    return affordable(in_s(load_, processor, units), functions_[processor].seconds(static_cast<double>(units)));
}

Units GuardedPolicy::next_block(int processor, double now_s, const Progress& progress) {
    if (fell_back_) return fallback_->next_block(processor, now_s, progress);
    const auto p = static_cast<std::size_t>(processor);
    Lane& lane = lanes_[p];
    if (lane.owed == 0) {
        const Units units = std::min(
            {planned_->next_block(processor, now_s, progress), progress.room(processor), progress.remaining()});
        if (lane.right || units <= 0) return units;
        lane.owed = lane.whole = units;
        lane.cut = false;
    }
    // What fits was asked for when nothing was there: in two blocks its rest would pay fixed costs once more.
    if (lane.owed > progress.room(processor) && lane.returning > 0) return 0;
    const bool idle = progress.in_flight(processor).empty();
    if (!lane.right && !idle && can_wait(p, lane.owed)) return 0;
    const Units part = !lane.right && idle ? part_to_check(p, lane.owed) : lane.owed;
    lane.cut = part < lane.owed;
    lane.owed -= part;
    return part;
}

bool GuardedPolicy::contradicted() const {
    const auto wrong = std::ranges::count_if(lanes_, [](const Lane& lane) { return lane.wrong > 0; });
    return wrong > 1 || std::ranges::any_of(lanes_, [](const Lane& lane) { return lane.wrong >= kContradiction; });
}

void GuardedPolicy::block_finished(const FinishedBlock& block) {
    begin_s_ = std::min(begin_s_, block.given_s);
    end_s_ = std::max(end_s_, block.end_s);
    finished_units_ += block.units;
    if (fell_back_) {
        fallback_->block_finished(block);
        return;
    }
    planned_->block_finished(block);
    finished_.push_back(block);
    Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
    lane.returning += load_.processors[static_cast<std::size_t>(block.processor)].own_memory;
    const double recorded_s =
        functions_[static_cast<std::size_t>(block.processor)].seconds(static_cast<double>(block.units));
    const double ratio = block.busy_s / recorded_s;
    const bool wrong = std::max(ratio, 1 / ratio) > kClearFactor;
    const bool late = wrong && !lane.cut && planned_s_ > 0 && block.busy_s - recorded_s > kLate * planned_s_;
    lane.wrong = late ? kContradiction : wrong ? lane.wrong + 1 : 0;
    lane.right = !wrong;
    if (contradicted()) fall_back();
}

void GuardedPolicy::block_returned(const ReturnedBlock& block) {
    end_s_ = std::max(end_s_, block.home_s);
    --lanes_[static_cast<std::size_t>(block.processor)].returning;
    policy().block_returned(block);
}

/// What is recorded of processors whose blocks agreed with it, as if they had run before. Nobody else is believed: a
/// record that is wrong of two may be wrong of all.
void GuardedPolicy::teach_record(Policy& policy) const {
    constexpr int kSizes = 6;
    policy.begin(load_);
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
        if (!lanes_[p].right || lanes_[p].lost) continue;
        const MeasuredRange range = functions_[p].range();
        const auto fitting = static_cast<double>(std::min(load_.units, load_.processors[p].memory_units));
        const double largest = std::min(range.largest, fitting);
        const double smallest = std::max(range.smallest, largest / std::exp2(kSizes - 1));
        for (int k = 0; k < kSizes; ++k) {
            const auto units = static_cast<Units>(smallest * std::pow(largest / smallest, k / (kSizes - 1.0)));
            policy.late_block_ended(static_cast<int>(p), units, functions_[p].seconds(static_cast<double>(units)));
        }
    }
}

void GuardedPolicy::fall_back() {
    fell_back_ = true;
    load_.learnt.clear();          // it is what was wrong, or no better
    fallback_ = adaptive_.make();  // one of an earlier run would repeat all of that in what is left of this one
    teach_record(*fallback_);
    fallback_->begin(load_);
    for (std::size_t p = 0; p < lanes_.size(); ++p)
        if (lanes_[p].lost) fallback_->processor_lost(static_cast<int>(p));
    for (const FinishedBlock& block : finished_) fallback_->block_finished(block);
    finished_.clear();
}

void GuardedPolicy::processor_lost(int processor) {
    Lane& lane = lanes_[static_cast<std::size_t>(processor)];
    lane.owed = 0;
    lane.lost = true;
    policy().processor_lost(processor);
}

void GuardedPolicy::processor_is_back(int processor) {
    lanes_[static_cast<std::size_t>(processor)].lost = false;
    policy().processor_is_back(processor);
}

PolicyReport GuardedPolicy::report() const {
    PolicyReport report = policy().report();
    if (fell_back_)
        report.note = "the load took other times than planned; " + std::string(adaptive_.name) + " took over";
    return report;
}

}  // namespace apportion
