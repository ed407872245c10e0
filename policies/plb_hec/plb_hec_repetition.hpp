// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What plb-hec computes of a load that runs again and whose data stay (APPORTION_KEEP): the blocks of the run before,
// whose data are in place; and once, where that pays for moving the data, other shares, for the runs to come in which
// they are there. A process begins with the blocks of the last such run of the process before.
#pragma once

#include <optional>
#include <vector>

#include "policies/plb_hec/plb_hec_models.hpp"
#include "policies/plb_hec/plb_hec_plan.hpp"
#include "policies/shared/block_replay.hpp"
#include "policies/shared/redistribution.hpp"

namespace apportion {

class PlbHecRepetition {
  public:
    /// Both must outlive it.
    PlbHecRepetition(const PlbHecModels& models, PlbHecPlan& plan) : models_(models), plan_(plan) {}

    /// A run begins, for which models and plan have begun already. Where units are unlike, nothing is repeated: who
    /// begins with its own units, and takes those of others at the end, finds most data in place.
    void begin(const LoadDescription& load, bool unlike, PolicyReport& report);
    bool active() const { return replay_.active(); }
    std::vector<OwnedUnits> repeated() const { return replay_.repeated(); }

    /// Units of the processor's next block (0: nothing now), or nothing when the run repeats nothing, or no more
    /// because a block runs much longer than the models say, and than in the run before.
    std::optional<Units> next(int processor, double now_s, const Progress& progress);
    void finished(const FinishedBlock& block);
    void returned(const ReturnedBlock& block) { replay_.returned(block); }
    void lost(int processor) { replay_.lost(processor); }
    /// A processor has changed. Returns whether the run goes on as before all the same.
    bool changed(int processor);

    /// Whether the block took less than twice as long as one of its size in the run that is repeated.
    bool as_before(const FinishedBlock& block) const {
        return active() && kTwice * replay_.longest_s(block.processor, block.units) > block.busy_s;
    }

  private:
    bool redistribute(PolicyReport& report);
    bool begin_as_learnt(PolicyReport& report);
    double expected_s(int processor, Units units) const;
    bool somebody_overdue(double now_s, const Progress& progress) const;

    const PlbHecModels& models_;
    PlbHecPlan& plan_;
    LoadDescription load_;
    BlockReplay replay_;
    Rebalancer rebalancer_;
    /// By how much a processor's blocks took longer than in the run before, those that took less long counted against
    /// it, and whether it has changed.
    struct Lateness {
        double late_s = 0;
        bool changed = false;
    };

    std::vector<Lateness> lateness_;  ///< per processor
    double moving_s_ = 0;             ///< what it costs to move the data of all to others
};

}  // namespace apportion
