// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/node_shares.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace apportion {

namespace {

constexpr double kTwice = 2;  // what is not known well may take twice as long as is known, or half

/// In whole granules, but for the load's last units; all of the units, whatever sums of real shares were rounded to.
std::vector<Units> whole(std::span<const double> shares, const LoadDescription& load) {
    std::vector<Units> units = whole_shares(shares, load.granularity);
    Units over = -load.units;
    for (const Units its : units) over += its;
    for (auto last = units.rbegin(); over > 0 && last != units.rend(); ++last) {
        const Units cut = std::min(over, *last);
        *last -= cut;
        over -= cut;
    }
    units.back() -= over;
    return units;
}

std::vector<Units> equal_shares(const LoadDescription& load) {
    const double share = static_cast<double>(load.units) / static_cast<double>(load.processors.size());
    return whole(std::vector<double>(load.processors.size(), share), load);
}

}  // namespace

NodeShares::NodeShares(const LoadDescription& load, std::vector<Units> first, bool fixed)
    : load_(load),
      fixed_(fixed),
      ranges_(first.empty() ? equal_shares(load) : std::move(first)),
      models_(load.processors.size()) {
    load_.links.clear();  // a move costs what most_moved() says
    load_.run = 1;
}

/// Whether the nodes do, in a run of so many seconds: the first one with these shares, or one clearly shorter than the
/// one before it.
bool NodeShares::learns(double run_s) {
    if (settled_) return false;
    if (learning_runs_s_.empty() || kClearlyLonger * run_s < learning_runs_s_.back()) {
        learning_runs_s_.push_back(run_s);
        return true;
    }
    settled_ = true;
    learning_s_ = 0;
    for (const double its : learning_runs_s_) learning_s_ += std::max(0.0, its - run_s);
    return false;
}

bool NodeShares::run_ended(std::span<const double> seconds) {
    const std::vector<Units> units = ranges_.shares();
    const std::vector<double> shares(units.begin(), units.end());
    ++load_.run;
    predicted_s_ = *std::ranges::max_element(seconds);
    if (fixed_ || (load_.runs_expected > 0 && load_.run > load_.runs_expected)) return false;
    const bool learning = learns(predicted_s_);
    const auto models_before = models_;
    const Rebalancer rebalancer_before = rebalancer_;
    for (std::size_t node = 0; node < models_.size(); ++node)
        if (units[node] > 0) models_[node].add({shares[node], seconds[node]});
    const Redistribution decision =
        rebalancer_.decide(load_, {shares, {seconds.begin(), seconds.end()}}, [this](std::size_t node, double its) {
            const auto& function = models_[node].function();
            return function ? function->seconds(its) : std::numeric_limits<double>::infinity();
        });
    if (learning && !(decision.worthwhile && kTwice * decision.run_s <= predicted_s_)) {
        models_ = models_before;
        rebalancer_ = rebalancer_before;
        return false;
    }
    if (!decision.worthwhile) return false;
    OwnedRanges ranges(whole(decision.shares, load_));
    const double gain_s = (predicted_s_ - decision.run_s) * runs_to_come(load_);
    const double moving_s = seconds_per_moved_unit_ * static_cast<double>(most_moved(ranges_, ranges));
    if (ranges == ranges_ || gain_s <= moving_s + learning_s_) {
        rebalancer_.not_followed();
        return false;
    }
    ranges_ = std::move(ranges);
    learning_runs_s_.clear();
    settled_ = false;
    predicted_s_ = decision.run_s;
    ++moves_;
    return true;
}

}  // namespace apportion
