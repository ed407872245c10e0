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
    bool at_once = false;  ///< it begins all units of a grant at once
    double way_s = 0;      ///< of each transfer, beside that of all
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

/// Each node computes its grants one after the other, unit by unit; every message and transfer takes `message_s`.
class Simulation {
  public:
    Simulation(std::vector<FakeNode> nodes, Units units, const char* policy, double message_s, double stall_factor,
               bool node_0_first)
        : nodes_(std::move(nodes)),
          message_s_(message_s),
          policy_(find_policy(policy)->make()),
          home_first_(*policy_, node_0_first ? 2 * message_s : 0),
          recovery_(std::max(1.0, stall_factor), nodes_.size()),
          work_(nodes_.size()) {
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
        result_.computes_on = result_.done && !work_[0].grants.empty();
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
        if (node == 0) work_[0].grants.clear();
        carry_out(grants_->lost(node, "it failed", now_s_));
    }
    /// What a node has to compute, in this order.
    struct Work {
        std::deque<GrantOrder> grants;
        double begun_s = 0, unit_s = 0;  ///< of the first
        int number = 0;                  ///< of what it computes
    };
    Work& work_of(const GrantOrder& order) { return work_[static_cast<std::size_t>(order.node)]; }
    void arrive(const GrantOrder& order) {
        grants_->arrived(order.grant, now_s_);
        work_of(order).grants.push_back(order);
        if (work_of(order).grants.size() == 1) compute(order.node);
    }
    void compute(int k) {
        Work& work = work_[static_cast<std::size_t>(k)];
        const FakeNode& node = nodes_[static_cast<std::size_t>(k)];
        if (work.grants.empty()) return;
        work.begun_s = now_s_;
        work.unit_s = (now_s_ >= node.stalls_from_s ? 100 : 1) / node.units_per_s;
        ends_as_planned(k);
    }
    void ends_as_planned(int k) {
        Work& work = work_[static_cast<std::size_t>(k)];
        const double end_s = work.begun_s + work.unit_s * static_cast<double>(work.grants.front().range.units);
        at(end_s, [this, k, number = ++work.number] {
            Work& its = work_[static_cast<std::size_t>(k)];
            if (failed_.contains(k) || number != its.number) return;
            const GrantOrder order = its.grants.front();
            its.grants.pop_front();
            const double seconds = now_s_ - its.begun_s;
            compute(k);
            carry_out(grants_->computed(order.grant, seconds, now_s_));
        });
    }
    void withdraw(const GrantOrder& wanted) {
        Work& work = work_of(wanted);
        const auto its = std::ranges::find(work.grants, wanted.grant, &GrantOrder::grant);
        if (failed_.contains(wanted.node) || its == work.grants.end()) return;
        const bool runs = its == work.grants.begin();
        Units kept = wanted.range.first - its->range.first;
        if (runs) kept = std::max(kept, static_cast<Units>((now_s_ - work.begun_s) / work.unit_s) + 1);
        if (nodes_[static_cast<std::size_t>(wanted.node)].at_once) kept = its->range.units;
        its->range.units = kept = std::min(kept, its->range.units);
        if (kept == 0) work.grants.erase(its);
        if (runs) ends_as_planned(wanted.node);
        const auto answer = [this, id = wanted.grant, kept] { carry_out(grants_->withdrawn(id, kept, now_s_)); };
        wanted.node == 0 ? answer() : at(now_s_ + message_s_, answer);
    }
    void carry_out(const Grants::Orders& orders) {
        for (const GrantOrder& order : orders) {
            const double message_s = order.node == 0 ? 0 : message_s_;
            const double delay_s =
                message_s + (order.node == 0 ? 0 : nodes_[static_cast<std::size_t>(order.node)].way_s);
            if (order.kind == GrantOrder::Kind::compute) {
                at(now_s_ + delay_s, [this, order] { arrive(order); });
            } else if (order.kind == GrantOrder::Kind::withdraw ||
                       (order.kind == GrantOrder::Kind::forget && order.node == 0)) {
                at(now_s_ + message_s, [this, order] { withdraw(order); });
            } else if (order.kind == GrantOrder::Kind::send_results) {
                for (const GrantOrder& own : work_[0].grants)
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
    std::vector<Work> work_;
    std::optional<Grants> grants_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::deque<std::function<void()>> actions_;
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
