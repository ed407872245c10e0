// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A load over several nodes, as the node where its data live sees it: node 0 grants ranges of units to nodes, each of
// which computes them by a policy of its own. A grant is a block of an ordinary policy whose processors are nodes, so
// this is a BlockFlow and what its decisions mean for data: when input is sent, and whose results are fetched. Pure:
// what nodes report goes in, orders for nodes come out; how they get there is of no concern here.
//
// A grant's life: compute (its input follows) -> arrived -> computed -> send_results -> home. Results are fetched only
// when it is decided that they count: of a late grant and those that compute its units again (recovery.hpp), one is
// told to forget them, and nobody waits for it. Node 0 computes in place: what it has begun is always waited for, and
// nothing is fetched into a range that it still computes; of what it is told to forget it begins no more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/engine/block_flow.hpp"
#include "policies/engine/home_first.hpp"

namespace apportion {

/// What a node is told.
struct GrantOrder {
    enum class Kind { compute, withdraw, send_results, forget };
    Kind kind = Kind::compute;
    int node = 0;
    std::int64_t grant = 0;
    UnitRange range;
};

/// What became of a grant; seconds since the load's begin on node 0's clock.
struct GrantRecord {
    enum class State { granted, computed, fetched, home, dropped };
    Block block;
    State state = State::granted;
    double given_s = 0;
    double arrived_s = 0;  ///< as node 0 heard of it
    double start_s = 0;    ///< arrived, and the grant before it computed; busy_s before its end where that is earlier
    double end_s = 0;
    double busy_s = 0;  ///< that the node's devices need together, by the speeds they showed
    double home_s = 0;
};

struct LostNode {
    int node = 0;
    double at_s = 0;
    std::string reason;
};

class Grants {
  public:
    using Orders = std::vector<GrantOrder>;

    /// Begins the load, whose processors are the nodes. Throws PolicyError. Without `recovery` every grant is waited
    /// for.
    Grants(const LoadDescription& load, HomeFirst& policy, Recovery* recovery);

    Orders begin(double now_s);

    /// The grant's input is at its node.
    void arrived(std::int64_t grant, double now_s);
    /// half_s: its node would need for half as many units (see FinishedBlock).
    Orders computed(std::int64_t grant, double busy_s, double now_s, double half_s = 0);
    /// Of a grant that was to be withdrawn, its node keeps these first units: none of the others had begun.
    Orders withdrawn(std::int64_t grant, Units kept, double now_s);
    /// Its results are where they belong.
    void home(std::int64_t grant, double now_s);
    /// The node computes nothing any more in this run.
    Orders lost(int node, const std::string& reason, double now_s);

    Orders look(double now_s);
    /// When to look next, if nothing happens before; infinite: no need.
    double next_look_s(double now_s) const;

    bool done() const;
    /// Where nothing is computed any more, a node that has to take in its input or whose results are awaited; -1: none.
    int awaited_node() const;
    /// Why the load cannot be computed; empty: it can.
    const std::string& error() const { return error_; }

    const std::vector<GrantRecord>& records() const { return records_; }
    const std::vector<LostNode>& lost_nodes() const { return lost_; }
    /// Whether no node fails, or may still compute what others have computed.
    bool all_answer() const;
    int stalls() const { return flow_.stalls(); }

  private:
    GrantRecord& at(std::int64_t grant) { return records_[static_cast<std::size_t>(grant)]; }
    Orders go_on(const std::vector<Block>& blocks, double now_s);
    void fetch(std::int64_t grant, double now_s, Orders& orders);
    void forget(std::int64_t grant, Orders& orders);
    void fetch_deferred(double now_s, Orders& orders);
    bool computed_here(UnitRange range) const;
    void note_lost(int node, const std::string& reason, double now_s);

    const LoadDescription load_;
    HomeFirst& policy_;
    BlockFlow flow_;
    std::vector<GrantRecord> records_;    ///< by grant
    std::vector<double> last_end_s_;      ///< by node
    std::vector<std::int64_t> deferred_;  ///< to be fetched when node 0 has ended what it computes there
    bool others_wait_ = true;  ///< while node 0 is alone, and until they are asked for the first time after that
    std::int64_t fetching_ = 0;
    std::vector<LostNode> lost_;
    bool all_answer_ = true;
    std::string error_;
};

}  // namespace apportion
