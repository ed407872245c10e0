// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Grants over nodes in virtual time: messages that take a while, nodes that are slow, late or lost.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/engine/grants.hpp"

namespace apportion {

struct FakeNode {
    double units_per_s = 1000;
    double stalls_from_s = 1e9;  ///< its grants that begin later take a hundred times as long
    double fails_at_s = 1e9;
    double way_s = 0;  ///< of each message and transfer, beside that of all
};

struct NodesRun {
    bool done = false;
    std::string error;
    double makespan_s = 0;
    std::vector<int> times;  ///< each unit came home, or was computed there
    std::vector<Units> units;
    bool written_twice_at_once = false;  ///< results were received where node 0 computed
    std::vector<LostNode> lost;
    bool all_answer = true;
    bool computes_on = false;  ///< node 0, in place, when the load is done
};

/// Each node computes its grants one after the other; every message and transfer takes `message_s`.
class Simulation {
  public:
    Simulation(std::vector<FakeNode> nodes, Units units, const char* policy, double message_s, double stall_factor,
               bool node_0_first)
        : nodes_(std::move(nodes)),
          message_s_(message_s),
          policy_(find_policy(policy)->make()),
          home_first_(*policy_, node_0_first ? 2 * message_s : 0),
          recovery_(std::max(1.0, stall_factor), nodes_.size()),
          free_s_(nodes_.size(), 0) {
        LoadDescription load;
        load.units = units;
        for (std::size_t k = 0; k < nodes_.size(); ++k)
            load.processors.push_back({"node " + std::to_string(k), static_cast<int>(k), true});
        load.initial_block = default_initial_block(units, 1, static_cast<int>(nodes_.size()));
        result_.times.assign(static_cast<std::size_t>(units), 0);
        result_.units.assign(nodes_.size(), 0);
        grants_.emplace(load, home_first_, stall_factor > 0 ? &recovery_ : nullptr);
    }

    NodesRun run() {
        for (std::size_t k = 0; k < nodes_.size(); ++k)
            if (nodes_[k].fails_at_s < 1e9) at(nodes_[k].fails_at_s, [this, k] { fail(static_cast<int>(k)); });
        carry_out(grants_->begin(0));
        while (!grants_->done() && grants_->error().empty()) {
            const double look_s = grants_->next_look_s(now_s_);
            if (events_.empty() && !(look_s < 1e9)) break;
            if (events_.empty() || look_s < std::get<0>(events_.top())) {
                now_s_ = look_s;
                carry_out(grants_->look(now_s_));
                continue;
            }
            const auto [when_s, number] = events_.top();
            events_.pop();
            now_s_ = when_s;
            actions_[number]();
        }
        result_.done = grants_->done();
        result_.computes_on = result_.done && !here_.empty();
        result_.error = grants_->error();
        result_.makespan_s = now_s_;
        result_.lost = grants_->lost_nodes();
        result_.all_answer = grants_->all_answer();
        return result_;
    }

  private:
    void at(double when_s, std::function<void()> action) {
        events_.emplace(when_s, actions_.size());
        actions_.push_back(std::move(action));
    }
    void fail(int node) {
        failed_.insert(node);
        if (node == 0) here_.clear();
        carry_out(grants_->lost(node, "it failed", now_s_));
    }
    void arrive(const GrantOrder& order) {
        grants_->arrived(order.grant, now_s_);
        const FakeNode& node = nodes_[static_cast<std::size_t>(order.node)];
        double& free_s = free_s_[static_cast<std::size_t>(order.node)];
        const double start_s = std::max(free_s, now_s_);
        const double slow = start_s >= node.stalls_from_s ? 100 : 1;
        const double seconds = slow * static_cast<double>(order.range.units) / node.units_per_s;
        free_s = start_s + seconds;
        if (order.node == 0) here_.push_back(order);
        at(free_s, [this, order, seconds] {
            if (failed_.contains(order.node)) return;
            if (order.node == 0) std::erase_if(here_, [&](const GrantOrder& o) { return o.grant == order.grant; });
            carry_out(grants_->computed(order.grant, seconds, now_s_));
        });
    }
    void carry_out(const Grants::Orders& orders) {
        for (const GrantOrder& order : orders) {
            const double delay_s =
                order.node == 0 ? 0 : message_s_ + nodes_[static_cast<std::size_t>(order.node)].way_s;
            if (order.kind == GrantOrder::Kind::compute) {
                at(now_s_ + delay_s, [this, order] { arrive(order); });
            } else if (order.kind == GrantOrder::Kind::send_results) {
                for (const GrantOrder& own : here_)
                    if (own.range.first < order.range.first + order.range.units &&
                        order.range.first < own.range.first + own.range.units)
                        result_.written_twice_at_once = true;
                at(now_s_ + delay_s, [this, order] { grants_->home(order.grant, now_s_), count(); });
            }
        }
        count();
    }
    /// Grants that came home since this was called last.
    void count() {
        for (const GrantRecord& grant : grants_->records())
            if (grant.state == GrantRecord::State::home && counted_.insert(grant.block.id).second) {
                result_.units[static_cast<std::size_t>(grant.block.processor)] += grant.block.units;
                for (Units u = grant.block.first; u < grant.block.first + grant.block.units; ++u)
                    ++result_.times[static_cast<std::size_t>(u)];
            }
    }

    using Event = std::pair<double, std::size_t>;
    std::vector<FakeNode> nodes_;
    double message_s_;
    std::unique_ptr<Policy> policy_;
    HomeFirst home_first_;
    Recovery recovery_;
    std::vector<double> free_s_;
    std::optional<Grants> grants_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::deque<std::function<void()>> actions_;
    std::vector<GrantOrder> here_;  ///< what node 0 computes or has waiting
    std::set<int> failed_;
    std::set<std::int64_t> counted_;
    double now_s_ = 0;
    NodesRun result_;
};

inline NodesRun run_nodes(std::vector<FakeNode> nodes, Units units, const char* policy = "plb-hec",
                          double stall_factor = 0, double message_s = 1e-3, bool node_0_first = true) {
    return Simulation(std::move(nodes), units, policy, message_s, stall_factor, node_0_first).run();
}

}  // namespace apportion
