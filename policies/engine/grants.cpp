// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/grants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/io/text.hpp"

namespace apportion {

Grants::Grants(const LoadDescription& load, HomeFirst& policy, Recovery* recovery)
    : load_(load),
      policy_(policy),
      flow_(load_, policy, {}, recovery, Among::nodes),
      last_end_s_(load.processors.size(), 0) {}

Grants::Orders Grants::begin(double now_s) { return go_on(flow_.ask_all(now_s), now_s); }

/// Carries out what the flow has decided.
Grants::Orders Grants::go_on(const std::vector<Block>& blocks, double now_s) {
    Orders orders;
    const Decisions decisions = flow_.take_decisions();
    for (const std::int64_t id : decisions.given_up) {
        const GrantRecord& grant = at(id);
        const double ran_s = now_s - grant.given_s;
        if (std::ranges::count(decisions.lost, grant.block.processor) > 0)
            note_lost(grant.block.processor,
                      fmt::format("units {} to {} not computed after {:.3g} s", grant.block.first,
                                  grant.block.first + grant.block.units - 1, ran_s),
                      now_s);
        all_answer_ = false;
        forget(id, orders);
    }
    for (const std::int64_t id : decisions.dropped) forget(id, orders);
    for (const std::int64_t id : decisions.counted) fetch(id, now_s, orders);
    for (const auto& [id, range] : decisions.wanted)
        orders.push_back({GrantOrder::Kind::withdraw, at(id).block.processor, id, range});
    for (const Block& block : blocks) {
        GrantRecord record;
        record.block = block;
        record.given_s = now_s;
        records_.push_back(record);
        if (block.processor != kHome) flow_.may_be_taken_over(block.id);
        orders.push_back({GrantOrder::Kind::compute, block.processor, block.id, {block.first, block.units}});
    }
    if (flow_.remaining() > 0 && !flow_.anybody_left() && error_.empty()) {
        error_ = fmt::format("no node is left to compute the remaining {}", counted(flow_.remaining(), "unit"));
        for (int node = 0; node < static_cast<int>(load_.processors.size()); ++node) {
            const auto lost = std::ranges::find(lost_, node, &LostNode::node);
            error_ += fmt::format("; {}: {}", load_.processors[static_cast<std::size_t>(node)].name,
                                  lost != lost_.end() ? lost->reason : "others computed its units before it did");
        }
    }
    return orders;
}

/// Whether node 0 is at work on some of these units: a piece that does not count, or will not.
bool Grants::computed_here(UnitRange range) const {
    return std::ranges::any_of(flow_.in_flight(kHome), [&](const BlockInFlight& block) {
        return block.first < range.first + range.units && range.first < block.first + block.units;
    });
}

void Grants::fetch(std::int64_t id, double now_s, Orders& orders) {
    GrantRecord& grant = at(id);
    if (grant.block.processor == kHome) {
        grant.state = GrantRecord::State::home;
        grant.home_s = now_s;
        return;
    }
    const UnitRange range{grant.block.first, grant.block.units};
    if (computed_here(range)) {
        deferred_.push_back(id);
        return;
    }
    grant.state = GrantRecord::State::fetched;
    ++fetching_;
    orders.push_back({GrantOrder::Kind::send_results, grant.block.processor, id, range});
}

void Grants::fetch_deferred(double now_s, Orders& orders) {
    for (const std::int64_t waiting : std::exchange(deferred_, {})) fetch(waiting, now_s, orders);
}

void Grants::forget(std::int64_t id, Orders& orders) {
    GrantRecord& grant = at(id);
    grant.state = GrantRecord::State::dropped;
    orders.push_back({GrantOrder::Kind::forget, grant.block.processor, id, {grant.block.first, grant.block.units}});
}

void Grants::arrived(std::int64_t id, double now_s) {
    at(id).arrived_s = now_s;
    flow_.begins(id, now_s);
}

Grants::Orders Grants::computed(std::int64_t id, double busy_s, double now_s, double half_s) {
    GrantRecord& grant = at(id);
    const auto in_flight = flow_.in_flight(grant.block.processor);
    // Others compute its units: given up, or its node was lost.
    if (std::ranges::find(in_flight, id, &BlockInFlight::id) == in_flight.end()) return {};
    double& last_end_s = last_end_s_[static_cast<std::size_t>(grant.block.processor)];
    // That its input had arrived may be heard late, even together with its end: it took its time all the same.
    grant.start_s = std::max(grant.given_s, std::min(std::max(grant.arrived_s, last_end_s), now_s - busy_s));
    grant.end_s = last_end_s = now_s;
    grant.busy_s = busy_s;
    const bool dropped = grant.state == GrantRecord::State::dropped;
    if (!dropped) grant.state = GrantRecord::State::computed;
    const bool home = grant.block.processor == kHome;
    const std::vector<Block> blocks = flow_.finished(id, grant.start_s, grant.end_s, grant.busy_s, now_s, half_s);
    Orders fetched;
    if (at(id).block.again_of < 0) fetch(id, now_s, fetched);
    Orders orders = go_on(blocks, now_s);
    if (home) fetch_deferred(now_s, fetched);
    orders.insert(orders.begin(), fetched.begin(), fetched.end());
    return orders;
}

Grants::Orders Grants::withdrawn(std::int64_t id, Units kept, double now_s) {
    GrantRecord& grant = at(id);
    const auto in_flight = flow_.in_flight(grant.block.processor);
    if (std::ranges::find(in_flight, id, &BlockInFlight::id) == in_flight.end()) return {};
    if (kept == 0)
        grant.state = GrantRecord::State::dropped;
    else
        grant.block.units = kept;
    const bool home = grant.block.processor == kHome;
    Orders orders = go_on(flow_.withdrawn(id, kept, now_s), now_s);
    if (home) fetch_deferred(now_s, orders);
    return orders;
}

void Grants::home(std::int64_t id, double now_s) {
    GrantRecord& grant = at(id);
    grant.state = GrantRecord::State::home;
    grant.home_s = now_s;
    --fetching_;
    flow_.returned(grant.block.id, grant.block.processor, grant.block.units, grant.end_s, now_s);
}

void Grants::note_lost(int node, const std::string& reason, double now_s) {
    all_answer_ = false;
    if (std::ranges::find(lost_, node, &LostNode::node) == lost_.end()) lost_.push_back({node, now_s, reason});
}

Grants::Orders Grants::lost(int node, const std::string& reason, double now_s) {
    note_lost(node, reason, now_s);
    flow_.fence(node);
    const auto in_flight = flow_.in_flight(node);
    for (const BlockInFlight& block : std::vector<BlockInFlight>(in_flight.begin(), in_flight.end())) {
        flow_.give_back(block.id);
        at(block.id).state = GrantRecord::State::dropped;
    }
    Orders orders = go_on(flow_.ask_all(now_s), now_s);
    if (node == kHome) fetch_deferred(now_s, orders);  // it computes there no more
    return orders;
}

Grants::Orders Grants::look(double now_s) {
    std::vector<Block> blocks = flow_.look(now_s);
    if (others_wait_ && now_s >= policy_.alone_until_s()) {
        others_wait_ = false;
        const std::vector<Block> first = flow_.ask_all(now_s);
        blocks.insert(blocks.end(), first.begin(), first.end());
    }
    return go_on(blocks, now_s);
}

double Grants::next_look_s(double now_s) const {
    const double look_s = flow_.next_look_s(now_s);
    return others_wait_ ? std::min(look_s, std::max(now_s, policy_.alone_until_s())) : look_s;
}

int Grants::awaited_node() const {
    int unanswered = -1;
    for (int node = 0; node < static_cast<int>(load_.processors.size()); ++node)
        for (const BlockInFlight& block : flow_.in_flight(node)) {
            if (block.begun_s >= 0) return -1;
            unanswered = node;
        }
    if (unanswered >= 0 || fetching_ == 0) return unanswered;
    return std::ranges::find(records_, GrantRecord::State::fetched, &GrantRecord::state)->block.processor;
}

bool Grants::all_answer() const {
    for (int node = 0; node < static_cast<int>(load_.processors.size()); ++node)
        if (!flow_.in_flight(node).empty()) return false;
    return all_answer_;
}

bool Grants::done() const {
    return flow_.done() && fetching_ == 0 && deferred_.empty();  // where node 0 computes in vain, something is deferred
}

}  // namespace apportion
