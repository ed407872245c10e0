// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/offset_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "policies/planners/imbalance.hpp"
#include "policies/planners/planner_table.hpp"

namespace apportion {

namespace {

constexpr Units kStepsOfShare = 30;
constexpr Units kPublishedStep = 4;     // frames, in the paper's Fig. 10 and its tables of both domains
constexpr int kMostTries = 20;          // runs with unequal shares that search
constexpr double kDrop = 1.05;          // of the time, that ends the search
constexpr int kEqualRuns = 3;           // before it begins
constexpr int kNoisyEqualRuns = 9;      // the same while the typical one takes ...
constexpr double kNoise = 1.02;         // ... more than this, in the least time
constexpr double kBudget = 0.005;       // of the time with equal shares
constexpr double kCostSafety = 3;       // safety factor on the predicted cost of a step
constexpr int kPairs = 3;               // of runs, one with what was found and one with equal shares, ...
constexpr int kMostPairs = 9;           // ... and at most, while neither is clearly faster
constexpr double kMargin = 0.99;        // of the time with equal shares: what is kept takes less
constexpr int kMostComparisons = 2;     // of what was found
constexpr std::size_t kRemembered = 9;  // times at one offset

Units equal_share(const LoadDescription& load) {
    return load.units / load.granularity / static_cast<Units>(load.processors.size()) * load.granularity;
}

}  // namespace

void OffsetSearch::Times::add(double seconds) {
    if (last_s.size() == kRemembered) last_s.erase(last_s.begin());
    last_s.push_back(seconds);
    ++count;
}

double OffsetSearch::Times::least_s() const { return last_s.empty() ? INFINITY : *std::ranges::min_element(last_s); }

double OffsetSearch::Times::typical_s() const {
    if (last_s.empty()) return INFINITY;
    std::vector<double> sorted = last_s;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
}

OffsetSearch::OffsetSearch(const LoadDescription& load, Units step, const char* how)
    : balanced_(equal_share(load)),
      step_(step),
      phase_(load.processors.size() > 1 ? Phase::searching : Phase::keeping),
      units_(load.units),
      granularity_(load.granularity),
      how_(how),
      shares_(load.processors.size()) {}

bool OffsetSearch::is_for(const LoadDescription& load) const {
    return load.units == units_ && load.granularity == granularity_ && load.processors.size() == shares_.size();
}

void OffsetSearch::begin_run(int runs_expected, bool ended) {
    if (ended && runs_ > 1) {  // the very first warms up
        learn();
        decide();
    }
    shares_.assign(shares_.size(), {});
    runs_expected_ = runs_expected;
    ++runs_;
}

void OffsetSearch::add(const FinishedBlock& block) {
    Share& share = shares_[static_cast<std::size_t>(block.processor)];
    share.units += block.units;
    share.busy_s += block.busy_s;
    share.end_s = std::max(share.end_s, block.end_s);
}

/// Makespan and times of the run before.
void OffsetSearch::learn() {
    const std::vector<Units> sizes = team_shares(shares_.size(), balanced_, offset_);
    double end_s = 0;
    std::map<Units, double> slowest_s;
    for (std::size_t p = 0; p < shares_.size(); ++p) {
        if (shares_[p].units == 0) continue;
        slowest_s[sizes[p]] = std::max(slowest_s[sizes[p]], shares_[p].busy_s);
        end_s = std::max(end_s, shares_[p].end_s);
    }
    makespans_[offset_].add(end_s);
    for (const auto& [size, seconds] : slowest_s) {
        const auto known = times_.try_emplace(size, seconds).first;
        known->second = std::min(known->second, seconds);
    }
}

Units OffsetSearch::best_offset() const {
    PlanProblem problem;
    problem.units = balanced_ * static_cast<Units>(shares_.size());
    problem.granularity = granularity_;
    DiscreteTimes times;
    for (const auto& [units, seconds] : times_) {
        times.points.push_back(units);
        times.seconds.push_back(seconds);
    }
    problem.processors.assign(shares_.size(), times);
    const Plan plan = run_planner(*find_planner("imbalance"), problem);
    return plan.shares.size() > 1 ? plan.shares[1] - balanced_ : 0;
}

double OffsetSearch::typical_s(Units offset) const {
    const auto times = makespans_.find(offset);
    return times == makespans_.end() ? INFINITY : times->second.typical_s();
}

double OffsetSearch::shortest_typical_s() const {
    double shortest_s = INFINITY;
    for (const auto& [offset, times] : makespans_) shortest_s = std::min(shortest_s, times.typical_s());
    return shortest_s;
}

double OffsetSearch::predicted_s() const {
    const double seconds = phase_ == Phase::keeping ? typical_s(offset_) : NAN;
    return std::isfinite(seconds) ? seconds : std::nan("");
}

std::string OffsetSearch::note() const {
    switch (phase_) {
        case Phase::searching:
            return fmt::format("{}: searching, offset {} of {} units", how_, offset_, balanced_);
        case Phase::comparing:
            return fmt::format("{}: comparing offset {} of {} units with equal shares", how_, found_, balanced_);
        case Phase::keeping:
            break;
    }
    return fmt::format("{}: offset {} of {} units found by trying", how_, offset_, balanced_);
}

namespace {

/// Every offset once.
class PublishedSearch final : public OffsetSearch {
  public:
    explicit PublishedSearch(const LoadDescription& load)
        : OffsetSearch(load, up_to_multiple(kPublishedStep, load.granularity), "tried as published") {}

  private:
    void decide() override {
        if (phase_ == Phase::keeping) return;
        const bool slow = typical_s(offset_) > kDrop * shortest_typical_s();
        if (slow || std::ssize(makespans_) >= kMostTries || offset_ + step_ > balanced_) {
            phase_ = Phase::keeping;
            offset_ = found_ = best_offset();
        } else {
            offset_ += step_;
        }
    }
};

/// Within a budget, comparing what is found with equal shares before it is kept, and ever more rarely afterwards.
class CarefulSearch final : public OffsetSearch {
  public:
    explicit CarefulSearch(const LoadDescription& load)
        : OffsetSearch(load,
                       std::max<Units>(1, equal_share(load) / load.granularity / kStepsOfShare) * load.granularity,
                       "no profile") {}

  private:
    void decide() override {
        switch (phase_) {
            case Phase::searching:
                return search();
            case Phase::comparing:
                return compare();
            case Phase::keeping:
                return keep();
        }
    }

    double proportional_s(Units units) const {
        return equal_s() * static_cast<double>(units) / static_cast<double>(balanced_);
    }

    double budget_s() const { return kBudget * equal_s() * std::max(runs_expected_, runs_); }

    /// By a run at that offset, against equal shares. While few times are known, what is not below all those with equal
    /// shares is no gain, and costs at least as much as the larger share is larger.
    double loss_s(Units offset, const Times& times) const {
        if (offset == 0 || times.count == 0) return 0;
        const Times& equal = makespans_.at(0);
        const double excess_s = times.typical_s() - equal.typical_s();
        if (phase_ == Phase::keeping) return excess_s;
        const double gain_s = equal.least_s() - times.typical_s();
        return gain_s > 0 ? -gain_s : std::max(excess_s, proportional_s(offset));
    }

    /// By all runs with unequal shares, beyond what they gained.
    double lost_s() const {
        double lost_s = lost_before_s_;
        for (const auto& [offset, times] : makespans_) lost_s += times.count * loss_s(offset, times);
        return lost_s;
    }

    void search() {
        const auto tried = makespans_.find(tried_);
        const double best_s = shortest_typical_s();
        offset_ = 0;
        int tries = 0;
        for (const auto& [offset, times] : makespans_)
            if (offset != 0) tries += times.count;
        const Times& equal = makespans_[0];
        const bool noisy = equal.typical_s() > kNoise * equal.least_s();
        if (equal.count < (noisy ? kNoisyEqualRuns + tries : kEqualRuns + std::min(tries, 1))) return;
        const bool slow = tried_ != 0 && tried->second.typical_s() > kDrop * best_s;
        if (tries >= kMostTries || tried_ + step_ > balanced_ || (slow && tried->second.count > 1)) return choose();
        const Units next = slow ? tried_ : tried_ + step_;
        if (affordable(loss_s(tried_, tried->second) + kCostSafety * proportional_s(next - tried_)))
            offset_ = tried_ = next;
        else if (runs_expected_ > 0)
            choose();
    }

    void choose() {
        found_ = best_offset();
        if (found_ != 0) return begin_comparison(std::max(lost_s(), 0.0));
        phase_ = Phase::keeping;
        offset_ = 0;
    }

    /// With times of its own: the machine may have changed.
    void begin_comparison(double lost_before_s) {
        phase_ = Phase::comparing;
        lost_before_s_ = lost_before_s;
        makespans_.clear();
        offset_ = 0;
        ++comparisons_;
    }

    void compare() {
        const Times& equal = makespans_[0];
        const Times& found = makespans_[found_];
        offset_ = 0;
        if (equal.count > found.count && affordable(std::max(loss_s(found_, found), 0.0))) {
            offset_ = found_;
            return;
        }
        const bool clearly = found.typical_s() < kMargin * equal.least_s();
        const bool least = found.least_s() < kMargin * equal.least_s();
        const bool typical = found.typical_s() < kMargin * equal.typical_s();
        const bool undecided = found.count < kPairs || (!clearly && (least || typical) && found.count < kMostPairs);
        if (equal.count == found.count && undecided) return;
        phase_ = Phase::keeping;
        if (equal.count == found.count && least && typical)
            offset_ = found_;
        else
            found_ = 0;
    }

    /// What is kept is compared with a run with equal shares ever more rarely.
    void keep() {
        if (found_ == 0) return;
        if (affordable(0))
            offset_ = makespans_[found_].count < std::exp2(makespans_[0].count + 1) ? found_ : 0;
        else if (comparisons_ < kMostComparisons)
            begin_comparison(0);
        else
            offset_ = found_ = 0;
    }

    double equal_s() const { return typical_s(0); }
    bool affordable(double loss_s) const { return lost_s() + loss_s <= budget_s(); }

    Units tried_ = 0;           ///< the largest offset so far
    int comparisons_ = 0;       ///< of what was found with equal shares
    double lost_before_s_ = 0;  ///< by runs that are no longer in makespans_
};

}  // namespace

std::unique_ptr<OffsetSearch> make_offset_search(const LoadDescription& load, bool as_published) {
    if (as_published) return std::make_unique<PublishedSearch>(load);
    return std::make_unique<CarefulSearch>(load);
}

}  // namespace apportion
