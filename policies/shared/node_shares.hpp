// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The shares of nodes in a load that runs again on data which stay distributed: equal at first, then by the partial
// models of what the nodes took, moved only when that pays in the runs to come (redistribution.hpp). A node's units are
// one range, ascending by rank: when shares change, nodes in between move as well, and the most that one of them gives
// away or gets is what a move costs.
#pragma once

#include <span>
#include <vector>

#include "models/partial_model.hpp"
#include "policies/engine/distributed_units.hpp"
#include "policies/shared/redistribution.hpp"

namespace apportion {

class NodeShares {
  public:
    /// Of `load` its units, granularity, processors (the nodes) and runs_expected. `first`: the shares of the first
    /// run, of sum load.units; empty: equal ones. `fixed`: they are those of all runs.
    NodeShares(const LoadDescription& load, std::vector<Units> first, bool fixed);

    const OwnedRanges& ranges() const { return ranges_; }
    /// What it takes to move a unit between two nodes.
    void set_seconds_per_moved_unit(double seconds) { seconds_per_moved_unit_ = seconds; }

    /// A run with ranges() took each node so many seconds. True: ranges() are others from now on.
    bool run_ended(std::span<const double> seconds);

    int moves() const { return moves_; }
    /// Of the next run, by the models; 0: not known.
    double predicted_s() const { return predicted_s_; }

  private:
    bool learns(double run_s);

    LoadDescription load_;
    bool fixed_;
    OwnedRanges ranges_;
    std::vector<PartialModel> models_;
    Rebalancer rebalancer_;
    double seconds_per_moved_unit_ = 0;
    std::vector<double> learning_runs_s_;  ///< the first runs with these shares
    bool settled_ = false;                 ///< there have been others since
    double learning_s_ = 0;                ///< extra seconds of the learning runs over the settled ones, as last seen
    double predicted_s_ = 0;
    int moves_ = 0;
};

}  // namespace apportion
