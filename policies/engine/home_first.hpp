// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The outer policy of a load over nodes, asked only for what is worth a journey: a grant elsewhere is home at the
// earliest when messages have gone there and back. What node 0, where the data live, computes by then itself is node
// 0's. So a load that is short beside a message costs what it costs on node 0 alone, and none ends with a grant that
// node 0 could have ended sooner.
//
// How long that is nobody knows at first. So node 0 begins alone, with grants that at least double, and others are
// asked when their answer could have come: a load that is over by then needed nobody, and of others no help comes much
// later than it could have.
#pragma once

#include "policies/engine/recovery.hpp"
#include "policies/forwarding_policy.hpp"

namespace apportion {

constexpr int kHome = 0;  ///< the node where the data live

class HomeFirst final : public ForwardingPolicy {
  public:
    /// journey_s: what the messages of a grant without data take, there and back; 0: no time. The policy must outlive
    /// this.
    HomeFirst(Policy& policy, double journey_s) : policy_(policy), journey_s_(journey_s) {}

    void begin(const LoadDescription& load) override;
    Units next_block(int processor, double now_s, const Progress& progress) override;
    void block_finished(const FinishedBlock& block) override;
    void processor_lost(int processor) override;

    /// Until when node 0 is alone in this run.
    double alone_until_s() const { return alone_until_s_; }

  private:
    Policy& policy() const override { return policy_; }
    bool ends_alone(const Progress& progress) const;

    Policy& policy_;
    const double journey_s_;
    Pace pace_;                 ///< node 0's, of earlier runs as well
    double alone_until_s_ = 0;  ///< 0: it is not
    Units begun_ = 0;           ///< by node 0 while it was alone
    bool lost_ = false;         ///< node 0 is
};

}  // namespace apportion
