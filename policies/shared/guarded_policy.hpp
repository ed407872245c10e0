// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A policy that plans from recorded times, and what happens when these are wrong: the first block of a processor is cut
// where that costs little of the planned makespan, so that a part of it can tell whether the record is right before the
// rest is handed out; until it has, no second block is handed out if its transfer can wait. Where blocks take clearly
// other times than recorded, the rest of the load is left to an adaptive policy, which is told of all blocks so far and
// of what is recorded of the processors that nothing is held against.
//
// One wrong part may be a spike: a second, smaller part is tried. The same processor wrong twice, two of them, or a
// whole block that is wrong and delays the end are a reason; after the run, so is an end that is clearly later than
// planned, as of transfers that share a link. When the load runs again, the adaptive policy has a run of its own; from
// then on the load goes by whichever took less. So what was noise costs one run.
#pragma once

#include <vector>

#include "models/piecewise_linear.hpp"
#include "policies/forwarding_policy.hpp"

namespace apportion {

class GuardedPolicy final : public ForwardingPolicy {
  public:
    /// `functions` and `links`: the recorded ones (block_costs.hpp). `adaptive` makes the policy to fall back on.
    GuardedPolicy(std::unique_ptr<Policy> planned, const PolicyEntry& adaptive,
                  const std::vector<PiecewiseLinear>& functions, std::vector<LoadDescription::Link> links);

    void begin(const LoadDescription& load) override;
    Units next_block(int processor, double now_s, const Progress& progress) override;
    void block_finished(const FinishedBlock& block) override;
    void block_returned(const ReturnedBlock& block) override;
    void processor_lost(int processor) override;
    void processor_is_back(int processor) override;
    PolicyReport report() const override;

  private:
    struct Lane {
        Units owed = 0;      ///< of a block of the planned policy that was cut
        Units whole = 0;     ///< that block
        int wrong = 0;       ///< blocks in a row that contradict the record
        bool right = false;  ///< a block agreed with it
        bool cut = false;    ///< what is in flight is a part of such a block
        int returning = 0;   ///< blocks of a device whose results are on their way home
        bool lost = false;
    };
    Policy& policy() const override { return fell_back_ ? *fallback_ : *planned_; }
    void choose(const LoadDescription& next);
    bool affordable(double seconds, double block_s) const;
    Units part_to_check(std::size_t processor, Units units) const;
    bool can_wait(std::size_t processor, Units units) const;
    bool contradicted() const;
    void teach_record(Policy& policy) const;
    void fall_back();

    std::unique_ptr<Policy> planned_;
    const PolicyEntry& adaptive_;
    std::vector<PiecewiseLinear> functions_;
    std::vector<LoadDescription::Link> links_;
    std::unique_ptr<Policy> fallback_;
    bool fell_back_ = false;        ///< in this run
    bool fell_back_first_ = false;  ///< ... before its first block
    double begin_s_ = 0;            ///< of this run's first block: what planning took is nothing against the plan
    double end_s_ = 0;              ///< of this run
    Units finished_units_ = 0;      ///< ... of all of its load, unless it failed
    double planned_run_s_ = 0;      ///< the last run that began with the plan
    double fallback_run_s_ = 0;     ///< ... without it; 0: there was none
    LoadDescription load_;
    std::vector<Lane> lanes_;
    double planned_s_ = 0;                 ///< makespan, by the planned policy
    std::vector<FinishedBlock> finished_;  ///< of this run, until the fallback
};

}  // namespace apportion
