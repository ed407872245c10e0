// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/guarded_policy.hpp"

#include <algorithm>
#include <utility>

namespace apportion {

namespace {

constexpr double kPart = 0.125;       // of a first block
constexpr double kDearest = 0.01;     // what cutting it may cost, of its time
constexpr double kClearFactor = 1.3;  // between recorded and real times
constexpr int kMostChecks = 2;        // parts of a first block

}  // namespace

GuardedPolicy::GuardedPolicy(std::unique_ptr<Policy> planned, const PolicyEntry& adaptive,
                             const std::vector<PiecewiseLinear>& functions)
    : planned_(std::move(planned)), adaptive_(adaptive), functions_(functions) {}

void GuardedPolicy::begin(const LoadDescription& load) {
    load_ = load;
    lanes_.assign(load.processors.size(), {});
    finished_.clear();
    (fallback_ ? fallback_ : planned_)->begin(load);
}

/// All of it where a part would cost too much.
Units GuardedPolicy::part_to_check(std::size_t processor, Units units) const {
    const Units part = round_to_granularity(kPart * static_cast<double>(units), load_.granularity);
    if (part >= units) return units;
    const PiecewiseLinear& function = functions_[processor];
    const double whole_s = function.seconds(static_cast<double>(units));
    double cut_s = function.seconds(static_cast<double>(part)) + function.seconds(static_cast<double>(units - part));
    if (processor < load_.links.size()) cut_s += load_.links[processor].latency_s;
    return cut_s - whole_s <= kDearest * whole_s ? part : units;
}

Units GuardedPolicy::next_block(int processor, double now_s, const Progress& progress) {
    if (fallback_) return fallback_->next_block(processor, now_s, progress);
    const auto p = static_cast<std::size_t>(processor);
    Lane& lane = lanes_[p];
    if (lane.owed == 0) {
        const Units units = std::min(
            {planned_->next_block(processor, now_s, progress), progress.room(processor), progress.remaining()});
        if (lane.right || lane.checks > 0 || units <= 0) return units;
        lane.owed = units;
    } else if (!progress.in_flight(processor).empty()) {
        return 0;  // until the part is done
    }
    const bool check = !lane.right && lane.checks < kMostChecks;
    const Units part = check ? part_to_check(p, lane.owed) : lane.owed;
    ++lane.checks;
    lane.owed -= part;
    return part;
}

bool GuardedPolicy::contradicted() const {
    const auto wrong = std::count_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.wrong > 0; });
    return wrong > 1 || std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.wrong > 1; });
}

void GuardedPolicy::block_finished(const FinishedBlock& block) {
    if (fallback_) {
        fallback_->block_finished(block);
        return;
    }
    planned_->block_finished(block);
    finished_.push_back(block);
    Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
    const double recorded_s =
        functions_[static_cast<std::size_t>(block.processor)].seconds(static_cast<double>(block.units));
    const double ratio = block.busy_s / recorded_s;
    const bool wrong = std::max(ratio, 1 / ratio) > kClearFactor;
    lane.wrong = wrong ? lane.wrong + 1 : 0;
    lane.right = !wrong;
    if (contradicted()) fall_back();
}

void GuardedPolicy::fall_back() {
    fallback_ = adaptive_.make();
    fallback_->begin(load_);
    for (std::size_t p = 0; p < lanes_.size(); ++p)
        if (lanes_[p].lost) fallback_->processor_lost(static_cast<int>(p));
    for (const FinishedBlock& block : finished_) fallback_->block_finished(block);
    finished_.clear();
}

void GuardedPolicy::block_returned(int processor, Units units, double seconds) {
    (fallback_ ? fallback_ : planned_)->block_returned(processor, units, seconds);
}

void GuardedPolicy::processor_lost(int processor) {
    Lane& lane = lanes_[static_cast<std::size_t>(processor)];
    lane.owed = 0;
    lane.lost = true;
    (fallback_ ? fallback_ : planned_)->processor_lost(processor);
}

PolicyReport GuardedPolicy::report() const {
    PolicyReport report = (fallback_ ? fallback_ : planned_)->report();
    if (fallback_) report.note = "the recorded times were wrong; " + std::string(adaptive_.name) + " took over";
    return report;
}

}  // namespace apportion
