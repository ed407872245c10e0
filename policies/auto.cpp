// SPDX-License-Identifier: LGPL-2.1-or-later
//
// auto: with recorded times of the load's kernel hpopta's plan, which is exact for these; without any plb-hec, which
// needs none. The plan is guarded (policies/shared/guarded_policy.hpp): when blocks take clearly other times than
// recorded, plb-hec gets what is left. A load that runs again keeps its policy.
//
// No other plan is considered: on machines drawn by chance hpopta's was 0.2 % behind the best of all (95 % of cases 1.0
// %, at worst 14 %), and which one is best there nobody knows beforehand.
//
// What runs learnt may be out of date: plb-hec, which begins with it as well, finds out at less cost than a plan. (With
// hpopta's plan a second process took 1.03 instead of 1.07 times as long as the best plan, but up to 1.5 times as long
// as with nothing known where a processor had become three times slower.)
//
// Good for: loads whose kernel was profiled on this machine. Where every block has high fixed costs the guard sees a
// processor that has become slower only at the end of its first block.
//
// No source: STARPU_SCHED is one name, and which one is best depends on what is known.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policies/forwarding_policy.hpp"
#include "policies/shared/block_costs.hpp"
#include "policies/shared/guarded_policy.hpp"

namespace apportion {

namespace {

constexpr const char* kAdaptive = "plb-hec";
constexpr const char* kExact = "hpopta";

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
        report.chosen = chosen_;
        if (report.note.empty()) report.note = problem_;
        return report;
    }

  private:
    Policy& policy() const override { return *policy_; }
    void choose(const LoadDescription& load);

    Units units_ = 0;
    std::unique_ptr<Policy> policy_;
    std::string chosen_;
    std::string problem_;  ///< why there is no record, or none that is planned from
};

void Auto::choose(const LoadDescription& load) {
    const std::vector<PiecewiseLinear> functions = recorded_functions(load);
    const bool planned = !functions.empty() && !load.recorded.learnt;
    const std::string before = std::exchange(chosen_, planned ? kExact : kAdaptive);
    problem_ = load.recorded.problem;
    if (planned) {
        policy_ = std::make_unique<GuardedPolicy>(find_policy(kExact)->make(), *find_policy(kAdaptive), functions,
                                                  recorded_links(load));
        return;
    }
    if (!functions.empty())
        problem_ = "times are what earlier runs learnt, with which plb-hec begins; apportion profile records a profile";
    // Models of an earlier load on the same processors are worth keeping.
    if (before != kAdaptive) policy_ = find_policy(kAdaptive)->make();
}

}  // namespace

extern const PolicyEntry auto_policy{
    .name = "auto",
    .description = "hpopta, guarded, where times are recorded, and plb-hec without any",
    .make = make_policy<Auto>,
    .profile = ProfileUse::optional};

}  // namespace apportion
