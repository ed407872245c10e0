// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A run of a load over nodes, on rank 0 and on the others: both sides of one protocol. engine/grants.hpp has the
// decisions, post.hpp the words.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "policies/mpi/nodes_load.hpp"
#include "policies/mpi/session.hpp"
#include "policies/starpu/report.hpp"

using namespace apportion;

std::string apportion_mpi_load::run() {
    std::string problem, unable;
    grants_.reset();
    granted_ = {};
    waiting_.clear();
    orders_.clear();
    part_ended_ = false;
    bytes_before_ = post_.bytes_moved();
    description_.run = ++runs_;
    try {
        part_->begin();
    } catch (const std::exception& error) {  // others compute without this node
        (world_.rank() == 0 ? problem : unable) = error.what();
    }
    try {
        if (const std::string file = report_file(); !file.empty()) check_report_file(file);
        if (world_.rank() == 0) grants_ = std::make_unique<Grants>(description_, *home_first_, recovery_.get());
    } catch (const std::exception& error) {
        problem = error.what();
    }
    sentence_ = agreed_sentence(world_, problem);
    const bool begun = sentence_.empty();
    begin_us_ = starpu_timing_now();
    if (!begun)
        part_->close();
    else if (world_.rank() == 0)
        run_as_home();
    else
        run_as_node(unable);
    part_->finish();
    while (post_.wait(0)) continue;  // what the node's own load told last
    if (begun) collect_reports(std::exchange(collects_, false));
    // Tasks that were given up may still store, what others have computed or will, and the memory may be changed from
    // now on: by the program, and on other ranks by the input of another load. Where one of rank 0 stalls the run has
    // failed with that.
    const bool told = world_.rank() == 0 && part_ended_;
    if (begun && !told && part_->may_store()) part_->wait_for_tasks();
    return sentence_;
}

/// Units that are computed here for nothing, because others were first, may be granted again meanwhile.
void apportion_mpi_load::begin_grant(std::int64_t grant, UnitRange range) {
    if (granted_.has(range)) {
        waiting_.emplace_back(grant, range);
        return;
    }
    granted_.add(grant, range);
    if (!part_ended_) part_->add(range);
}

std::vector<GrantedUnits::Computed> apportion_mpi_load::done_here(const Event& event) {
    const auto computed = granted_.done(event.units, event.worker, event.seconds);
    for (const auto& [grant, range] : std::exchange(waiting_, {})) begin_grant(grant, range);
    return computed;
}

/// Gives back what nobody here has begun of the units with which a grant ends. `tell` is told how many of the grant's
/// stay, if not all are computed; returns it when these are.
std::optional<GrantedUnits::Computed> apportion_mpi_load::withdraw(std::int64_t grant, UnitRange all, UnitRange wanted,
                                                                   const std::function<void(Units kept)>& tell) {
    if (std::ranges::count(waiting_, grant, &std::pair<std::int64_t, UnitRange>::first) > 0) tell(all.units);
    if (part_ended_ || !granted_.has(grant, all)) return {};
    const Units withdrawn = part_->withdraw(wanted);
    tell(all.units - withdrawn);
    return granted_.shorten(all, withdrawn);
}

// --- Rank 0 ---

void apportion_mpi_load::run_as_home() {
    for (int node = 1; node < world_.size(); ++node) {
        listening_.insert(node);
        post_.listen(node);
    }
    carry_out(grants_->begin(now_s()));
    while (!grants_->done() && grants_->error().empty() && sentence_.empty()) {
        const double look_s = grants_->next_look_s(now_s());
        double until_us = begin_us_ + look_s * 1e6;
        const int awaited = grants_->awaited_node();
        if (awaited >= 0) until_us = std::min(until_us, silent_at_us());
        if (const auto event = post_.wait(until_us)) {
            carry_out(take_in(*event));
        } else {
            if (awaited >= 0) end_job_if_silent(awaited);
            carry_out(grants_->look(now_s()));
        }
    }
    seconds_ = now_s();
    part_->close();
    part_->finish();
    // What it tells last counts: a task of one that has ended with an error may still write.
    while (sentence_.empty() && grants_->error().empty()) {
        const auto event = post_.wait(0);
        if (!event) break;
        carry_out(take_in(*event));
    }
    if (sentence_.empty()) sentence_ = grants_->error();
    if (!sentence_.empty()) sentence_ = Message::fitted(fmt::format("load '{}': {}", name_, sentence_));
    collects_ = sentence_.empty() && grants_->all_answer();
    end_run();
    if (!collects_) seconds_ = now_s();  // input that no result needs travelled on, out of the program's memory
}

/// When nodes that have to answer, which takes no time, have done so for the last time so long ago that one hangs.
double apportion_mpi_load::silent_at_us() const {
    return recovery_ ? post_.moved_at_us() + recovery_->silence_s() * 1e6 : std::numeric_limits<double>::infinity();
}

void apportion_mpi_load::end_job_if_silent(int node) const {
    if (starpu_timing_now() < silent_at_us()) return;
    abort_job(
        fmt::format("{} has not answered for {:g} s: it hangs, and the job ends; a larger "
                    "APPORTION_STALL_FACTOR waits longer",
                    description_.processors[static_cast<std::size_t>(node)].name, recovery_->silence_s()));
}

void apportion_mpi_load::carry_out(const Grants::Orders& orders) {
    for (const GrantOrder& order : orders) {
        Message message{.grant = order.grant, .first = order.range.first, .units = order.range.units};
        switch (order.kind) {
            case GrantOrder::Kind::compute:
                message.kind = Message::Kind::compute;
                if (order.node != 0) break;
                begin_grant(order.grant, order.range);
                grants_->arrived(order.grant, now_s());
                break;
            case GrantOrder::Kind::withdraw:
                message.kind = Message::Kind::withdraw;
                if (order.node == 0) withdraw_here(order.grant, order.range);
                break;
            case GrantOrder::Kind::send_results:
                message.kind = Message::Kind::send_results;
                if (!post_.receive_data(order.node, order.grant, arrays_, STARPU_W, order.range))
                    grants_->home(order.grant, now_s());
                break;
            case GrantOrder::Kind::forget:
                message.kind = Message::Kind::forget;
                if (order.node == 0) withdraw_here(order.grant, order.range);  // nobody waits for it in vain
                break;
        }
        if (order.node != 0) post_.send(order.node, message);
    }
}

void apportion_mpi_load::withdraw_here(std::int64_t grant, UnitRange wanted) {
    const auto& block = grants_->records()[static_cast<std::size_t>(grant)].block;
    Grants::Orders orders;
    const auto computed = withdraw(grant, {block.first, block.units}, wanted,
                                   [&](Units kept) { orders = grants_->withdrawn(grant, kept, now_s()); });
    carry_out(orders);
    if (computed) carry_out(grants_->computed(grant, computed->seconds, now_s(), computed->half_s));
}

Grants::Orders apportion_mpi_load::take_in(const Event& event) {
    switch (event.kind) {
        case Event::Kind::message:
            return take_in(event.node, event.message, seconds_at(event.at_us));
        case Event::Kind::received:
            grants_->home(event.grant, seconds_at(event.at_us));
            break;
        case Event::Kind::done:
            return units_done(event);
        case Event::Kind::ended:
            if (event.status == 0 || std::exchange(part_ended_, true)) return {};
            return home_fails(event);
        case Event::Kind::sent:
            break;
    }
    return {};
}

/// What its tasks would still write must not come over the results of others, who compute its units.
Grants::Orders apportion_mpi_load::home_fails(const Event& event) {
    if (event.status == -ETIMEDOUT) {
        sentence_ = fmt::format("{}: {}", description_.processors[0].name, event.text);
        return {};
    }
    part_->wait_for_tasks();
    return grants_->lost(0, event.text, now_s());
}

Grants::Orders apportion_mpi_load::take_in(int node, const Message& message, double at_s) {
    if (message.kind == Message::Kind::ended) {
        listening_.erase(node);
        return {};
    }
    post_.listen(node);
    switch (message.kind) {
        case Message::Kind::ready:
            post_.send_data(node, message.grant, arrays_, STARPU_R, {message.first, message.units});
            return {};
        case Message::Kind::arrived:
            grants_->arrived(message.grant, at_s);
            return {};
        case Message::Kind::withdrawn:
            return grants_->withdrawn(message.grant, message.units, at_s);
        case Message::Kind::computed:
            return grants_->computed(message.grant, message.seconds, at_s, message.half_s);
        case Message::Kind::failed:
            return grants_->lost(node, message.text, at_s);
        default:
            return {};
    }
}

Grants::Orders apportion_mpi_load::units_done(const Event& event) {
    Grants::Orders orders;
    for (const auto& [grant, seconds, half_s] : done_here(event)) {
        const Grants::Orders more = grants_->computed(grant, seconds, seconds_at(event.at_us), half_s);
        orders.insert(orders.end(), more.begin(), more.end());
    }
    return orders;
}

/// Tells the others, and waits until nothing is on its way any more.
void apportion_mpi_load::end_run() {
    Message message{.kind = Message::Kind::end, .units = collects_ ? 1 : 0};
    message.set_text(sentence_);
    for (int node = 1; node < world_.size(); ++node) post_.send(node, message);
    while (!listening_.empty() || post_.on_the_way() > 0) {
        const auto event = post_.wait(silent_at_us());
        if (!event) {
            end_job_if_silent(listening_.empty() ? 0 : *listening_.begin());
            continue;
        }
        if (event->kind != Event::Kind::message) continue;
        if (event->message.kind == Message::Kind::ended)
            listening_.erase(event->node);
        else
            post_.listen(event->node);
        if (event->message.kind == Message::Kind::ready)
            post_.send_data(event->node, event->message.grant, arrays_, STARPU_R,
                            {event->message.first, event->message.units});
    }
}

// --- Other ranks ---

void apportion_mpi_load::run_as_node(const std::string& unable) {
    post_.listen(0);
    part_ended_ = !unable.empty();
    if (part_ended_) tell(Message::Kind::failed, 0, unable);
    bool ended = false;
    while (!ended) {
        const Event event = post_.wait();
        switch (event.kind) {
            case Event::Kind::message:
                ended = event.message.kind == Message::Kind::end;
                if (ended) {
                    sentence_ = event.message.text;
                    collects_ = event.message.units != 0;
                } else {
                    post_.listen(0);
                    take_order(event.message);
                }
                break;
            case Event::Kind::received:
                start(event.grant);
                break;
            case Event::Kind::sent:
                orders_.erase(event.grant);
                break;
            case Event::Kind::done:
                units_done_here(event);
                break;
            case Event::Kind::ended:
                if (event.status != 0 && !std::exchange(part_ended_, true)) tell(Message::Kind::failed, 0, event.text);
                break;
        }
    }
    seconds_ = now_s();
    part_->close();
    post_.settle();
    tell(Message::Kind::ended, 0, "");
    post_.settle();
}

void apportion_mpi_load::tell(Message::Kind kind, std::int64_t grant, const std::string& text, double seconds,
                              double half_s) {
    Message message{.kind = kind, .grant = grant, .seconds = seconds, .half_s = half_s};
    if (const auto order = orders_.find(grant); order != orders_.end()) {
        message.first = order->second.first;
        message.units = order->second.units;
    }
    message.set_text(text);
    post_.send(0, message);
}

void apportion_mpi_load::take_order(const Message& message) {
    const UnitRange range{message.first, message.units};
    switch (message.kind) {
        case Message::Kind::compute:
            orders_[message.grant] = range;
            if (post_.receive_data(0, message.grant, arrays_, STARPU_R, range))
                tell(Message::Kind::ready, message.grant, "");
            else
                start(message.grant);
            break;
        case Message::Kind::withdraw:
            withdraw_elsewhere(message.grant, range);
            break;
        case Message::Kind::send_results:
            if (!post_.send_data(0, message.grant, arrays_, STARPU_W, range)) orders_.erase(message.grant);
            break;
        default:
            break;
    }
}

/// Its input is there.
void apportion_mpi_load::start(std::int64_t grant) {
    begin_grant(grant, orders_.at(grant));
    tell(Message::Kind::arrived, grant, "");
}

void apportion_mpi_load::withdraw_elsewhere(std::int64_t grant, UnitRange wanted) {
    const auto order = orders_.find(grant);
    if (order == orders_.end()) return;  // computed, and sent
    const auto computed = withdraw(grant, order->second, wanted, [&](Units kept) {
        order->second.units = kept;
        tell(Message::Kind::withdrawn, grant, "");
    });
    if (computed) tell(Message::Kind::computed, grant, "", computed->seconds, computed->half_s);
    if (order->second.units == 0) orders_.erase(order);
}

void apportion_mpi_load::units_done_here(const Event& event) {
    for (const auto& [grant, seconds, half_s] : done_here(event))
        tell(Message::Kind::computed, grant, "", seconds, half_s);
}
