// SPDX-License-Identifier: LGPL-2.1-or-later
//
// auto: takes the policy that it predicts to be best for the load. With recorded times of the load's kernel it runs
// every candidate in virtual time (policies/shared/virtual_run.hpp) and takes the one with the shortest makespan;
// without any, plb-hec, which needs none. A policy that plans from the record is guarded
// (policies/shared/guarded_policy.hpp): when blocks take clearly other times than recorded, plb-hec gets what is left.
//
// A load that runs again keeps its policy. Plans and virtual runs cost milliseconds each, too much for a short load: it
// gets the plan that is exact for the profile, if there is one.
//
// What runs learnt may be out of date: plb-hec, which begins with it as well, finds out at less cost than a plan. (With
// hpopta's plan a second process took 1.03 instead of 1.07 times as long as the best plan, but up to 1.5 times as long
// as with nothing known where a processor had become three times slower.)
//
// Good for: loads whose kernel was profiled on this machine. Where every block has high fixed costs the guard sees a
// processor that has become slower only at the end of its first block.
//
// No source: STARPU_SCHED is one name, and which one is best depends on the platform and the size.
#include <algorithm>
#include <limits>

#include "policies/forwarding_policy.hpp"
#include "policies/shared/guarded_policy.hpp"
#include "policies/shared/virtual_run.hpp"

namespace apportion {

namespace {

constexpr const char* kAdaptive = "plb-hec";
constexpr const char* kExact = "hpopta";
constexpr double kShort_s = 1;  // a hundred times what it takes to choose for some ten processors

/// n / sum of the largest recorded speeds.
double shortest_makespan(const LoadDescription& load, const std::vector<PiecewiseLinear>& functions) {
    double speeds = 0;
    for (const PiecewiseLinear& function : functions) {
        double largest = 0;
        for (const SpeedPoint& point : function.points()) largest = std::max(largest, point.units_per_s);
        speeds += largest;
    }
    return static_cast<double>(load.units) / speeds;
}

class Auto final : public ForwardingPolicy {
  public:
    void begin(const LoadDescription& load) override {
        const bool again = policy_ && load.run > 1 && load.units == units_;
        units_ = load.units;
        if (!again) choose(load);
        policy_->begin(load);
    }

    void late_block_ended(int processor, Units units, double busy_s) override {
        if (policy_) policy_->late_block_ended(processor, units, busy_s);
    }

    PolicyReport report() const override {
        if (!policy_) return {};
        PolicyReport report = policy_->report();
        report.predictions = predictions_;
        report.chosen = chosen_;
        if (report.note.empty()) report.note = problem_;
        return report;
    }

  private:
    Policy& policy() const override { return *policy_; }
    void choose(const LoadDescription& load);

    Units units_ = 0;
    std::unique_ptr<Policy> policy_;
    std::vector<PolicyReport::Prediction> predictions_;
    std::string chosen_;
    std::string problem_;  ///< why there is no record
};

void Auto::choose(const LoadDescription& load) {
    const PolicyEntry& adaptive = *find_policy(kAdaptive);
    predictions_.clear();
    problem_ = load.recorded.problem;
    chosen_ = kAdaptive;
    const std::vector<PiecewiseLinear> functions = recorded_functions(load);
    if (functions.empty() || load.recorded.learnt) {
        if (!functions.empty())
            problem_ =
                "times are what earlier runs learnt, with which plb-hec begins; apportion profile records a profile";
        // Models of an earlier load on the same processors are worth keeping.
        if (!policy_ || dynamic_cast<GuardedPolicy*>(policy_.get())) policy_ = adaptive.make();
        return;
    }
    policy_ = adaptive.make();
    double best_s = std::numeric_limits<double>::infinity();
    const auto rehearse = [&](const PolicyEntry& entry) {
        GuardedPolicy rehearsed(entry.make(), adaptive, functions);
        const double seconds = virtual_makespan(load, rehearsed, functions);
        predictions_.push_back({entry.name, seconds});
        if (seconds >= best_s) return;
        best_s = seconds;
        chosen_ = entry.name;
    };
    if (shortest_makespan(load, functions) < kShort_s) rehearse(*find_policy(kExact));
    if (chosen_ != kExact) {
        predictions_.clear();
        for (const PolicyEntry& entry : registered_policies())
            if (entry.rehearsed_by_auto) rehearse(entry);
        const double seconds = virtual_makespan(load, *adaptive.make(), functions);
        predictions_.push_back({kAdaptive, seconds});
        if (seconds <= best_s) chosen_ = kAdaptive;
    }
    if (chosen_ != kAdaptive)
        policy_ = std::make_unique<GuardedPolicy>(find_policy(chosen_)->make(), adaptive, functions);
}

}  // namespace

extern const PolicyEntry auto_policy{
    .name = "auto",
    .description = "the policy that recorded times predict to be best, or plb-hec without any",
    .make = make_policy<Auto>,
    .profile = ProfileUse::optional};

}  // namespace apportion
