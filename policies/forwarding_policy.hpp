// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A policy around another one, to which it passes everything on; what it does otherwise, or besides, it overrides.
#pragma once

#include "policies/policy.hpp"

namespace apportion {

class ForwardingPolicy : public Policy {
  public:
    void begin(const LoadDescription& load) override { policy().begin(load); }
    Units next_block(int processor, double now_s, const Progress& progress) override {
        return policy().next_block(processor, now_s, progress);
    }
    bool answered_trial() const override { return policy().answered_trial(); }
    void units_added(Units units) override { policy().units_added(units); }
    void block_finished(const FinishedBlock& block) override { policy().block_finished(block); }
    void block_returned(const ReturnedBlock& block) override { policy().block_returned(block); }
    std::vector<OwnedUnits> owned() const override { return policy().owned(); }
    bool begins_at_end(int processor) const override { return policy().begins_at_end(processor); }
    void late_block_ended(int processor, Units units, double busy_s) override {
        policy().late_block_ended(processor, units, busy_s);
    }
    void processor_lost(int processor) override { policy().processor_lost(processor); }
    void processor_is_back(int processor) override { policy().processor_is_back(processor); }
    PolicyReport report() const override { return policy().report(); }

  protected:
    /// The one that goes on now.
    virtual Policy& policy() const = 0;
};

}  // namespace apportion
