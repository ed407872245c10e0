// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test/fake_platform.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <random>

#include "policies/engine/block_flow.hpp"
#include "policies/forwarding_policy.hpp"

namespace apportion::test {

namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Counts calls on their way to the policy under test.
class Counted final : public ForwardingPolicy {
  public:
    Counted(Policy& policy, FakeRun& result) : policy_(policy), result_(result) {}
    Units next_block(int processor, double now_s, const Progress& progress) override {
        ++result_.asked;
        const Units units = policy_.next_block(processor, now_s, progress);
        result_.trials += units > 0 && policy_.answered_trial();
        return units;
    }

  private:
    Policy& policy() const override { return policy_; }
    Policy& policy_;
    FakeRun& result_;
};

struct Transfer {
    std::int64_t block = 0;
    int worker = 0;
    bool in = true;
    double latency_left_s = 0;
    double bytes_left = 0;
    std::size_t link = 0;
};

struct Lane {
    std::deque<std::int64_t> waiting;  ///< given, data not yet on their way
    std::deque<std::int64_t> ready;    ///< data arrived, kernel not started
    std::int64_t running = -1;
    bool receiving = false;
    Units resident = 0;
    int started = 0;
    bool lost = false, was_occupied = false;
    std::mt19937 random;
};

class Simulation {
  public:
    Simulation(const FakePlatform& platform, Policy& policy, const LoadDescription& load,
               const std::vector<OwnedUnits>& previous)
        : platform_(platform),
          counted_(policy, result_),
          recovery_(std::max(1.0, platform.stall_factor), load.processors.size()),
          flow_(load, counted_, previous, platform.stall_factor > 0 ? &recovery_ : nullptr),
          running_end_s_(platform.workers.size(), kNever) {
        lanes_.resize(platform.workers.size());
        for (std::size_t w = 0; w < lanes_.size(); ++w)
            lanes_[w].random.seed(platform.seed + 977 * static_cast<unsigned>(w));
    }

    FakeRun run() {
        for (int w = 0; w < static_cast<int>(lanes_.size()); ++w)
            flow_.set_occupied(w, (lane(w).was_occupied = worker(w).occupied_at_s <= 0) && worker(w).free_at_s > 0);
        accept(flow_.ask_all(0));
        while (advance()) continue;
        result_.stalls = flow_.stalls();
        result_.done = flow_.done() && transfers_.empty();
        return std::move(result_);
    }

  private:
    const FakeWorker& worker(int w) const { return platform_.workers[static_cast<std::size_t>(w)]; }
    Lane& lane(int w) { return lanes_[static_cast<std::size_t>(w)]; }
    double& running_end_s(int w) { return running_end_s_[static_cast<std::size_t>(w)]; }
    void find_rates();
    double rate(const Transfer& transfer) const { return rates_[transfer.link][transfer.in ? 1 : 0]; }
    double seconds_left(const Transfer& transfer) const;
    bool computes_for_nobody(int w) { return lane(w).running >= 0 && blocks_.at(lane(w).running).given_up; }
    void accept(const std::vector<Block>& blocks);
    void start_what_can(int w);
    void kernel_ended(int w);
    void transfer_ended(const Transfer& transfer);
    void lose(int w);
    void occupy(int w);
    void carry_out_decisions();
    void send_home(const FakeBlock& block);
    void drop(std::int64_t id);
    void look();
    bool advance();

    const FakePlatform& platform_;
    FakeRun result_;
    Counted counted_;
    Recovery recovery_;
    BlockFlow flow_;
    std::vector<Lane> lanes_;
    std::vector<Transfer> transfers_;
    std::vector<std::array<double, 2>> rates_;  ///< of each transfer on a link, by direction
    std::map<std::int64_t, FakeBlock> blocks_;
    std::vector<double> running_end_s_;  ///< by worker, close together, as all are looked at for every event
    double now_s_ = 0;
};

void Simulation::find_rates() {
    std::vector<std::array<int, 2>> sharing(platform_.links.size());
    for (const Transfer& transfer : transfers_)
        if (transfer.latency_left_s <= 0) ++sharing[transfer.link][transfer.in ? 1 : 0];
    rates_.resize(sharing.size());
    for (std::size_t link = 0; link < sharing.size(); ++link)
        for (const std::size_t in : {0, 1})
            rates_[link][in] = platform_.links[link].bytes_per_s / std::max(1, sharing[link][in]);
}

double Simulation::seconds_left(const Transfer& transfer) const {
    return transfer.latency_left_s > 0 ? transfer.latency_left_s : transfer.bytes_left / rate(transfer);
}

void Simulation::accept(const std::vector<Block>& blocks) {
    for (const Block& block : blocks) {
        const bool again = block.again_of >= 0;
        blocks_[block.id] = {block.id, block.processor, block.first, block.units, now_s_, 0, 0, 0, again};
        blocks_.at(block.id).yields = again || block.apart || worker(block.processor).link >= 0;
        if (blocks_.at(block.id).yields) flow_.may_be_taken_over(block.id);
        result_.pieces += again;
        lane(block.processor).waiting.push_back(block.id);
    }
    for (const Block& block : blocks) start_what_can(block.processor);
}

void Simulation::start_what_can(int w) {
    Lane& l = lane(w);
    while (!l.waiting.empty() && !l.receiving) {
        const FakeBlock& block = blocks_[l.waiting.front()];
        if (l.resident > 0 && l.resident + block.units > worker(w).physical_units) break;
        l.waiting.pop_front();
        l.resident += block.units;
        if (worker(w).link < 0) {
            l.ready.push_back(block.id);
        } else {
            l.receiving = true;
            transfers_.push_back({block.id, w, true, worker(w).latency_s,
                                  platform_.bytes_in_per_unit * static_cast<double>(block.units),
                                  static_cast<std::size_t>(worker(w).link)});
        }
    }
    while (l.running < 0 && !l.ready.empty() && blocks_[l.ready.front()].given_up) {
        drop(l.ready.front());
        l.ready.pop_front();
    }
    if (l.running < 0 && !l.ready.empty()) {
        l.running = l.ready.front();
        l.ready.pop_front();
        FakeBlock& block = blocks_[l.running];
        block.start_s = now_s_;
        if (!block.given_up) flow_.begins(block.id, now_s_);
        double seconds = worker(w).seconds(platform_.work ? platform_.work(block.first, block.units)
                                                          : static_cast<double>(block.units));
        if (worker(w).noise > 0) seconds *= std::exp(std::normal_distribution<>(0, worker(w).noise)(l.random));
        for (auto [number, factor] : worker(w).spikes)
            if (number == l.started) seconds *= factor;
        if (worker(w).drift_at_s >= 0 && now_s_ >= worker(w).drift_at_s) seconds *= worker(w).drift_factor;
        if (worker(w).takes) seconds = worker(w).takes(now_s_, seconds);
        ++l.started;
        running_end_s(w) = now_s_ + seconds;
        if (worker(w).silent_at_s >= 0 && running_end_s(w) > worker(w).silent_at_s) running_end_s(w) = kNever;
    }
}

void Simulation::kernel_ended(int w) {
    Lane& l = lane(w);
    FakeBlock& block = blocks_[l.running];
    block.end_s = now_s_;
    l.running = -1;
    running_end_s(w) = kNever;
    if (block.given_up) {
        drop(block.id);
        start_what_can(w);
        return;
    }
    block.waiting = block.again && !block.dropped;
    const FakeBlock done = block;
    if (!done.again && worker(w).link >= 0) flow_.goes_home(done.id);
    if (!done.again) send_home(done);
    std::vector<Block> next = flow_.finished(done.id, done.start_s, done.end_s, done.end_s - done.start_s, now_s_);
    if (done.dropped) drop(done.id);
    carry_out_decisions();
    accept(next);
    start_what_can(w);
}

void Simulation::send_home(const FakeBlock& block) {
    const int w = block.processor;
    if (worker(w).link >= 0)
        transfers_.push_back({block.id, w, false, worker(w).latency_s,
                              platform_.bytes_out_per_unit * static_cast<double>(block.units),
                              static_cast<std::size_t>(worker(w).link)});
    else
        transfer_ended({block.id, w, false, 0, 0});
}

void Simulation::transfer_ended(const Transfer& transfer) {
    Lane& l = lane(transfer.worker);
    FakeBlock& block = blocks_[transfer.block];
    if (transfer.in) {
        l.receiving = false;
        l.ready.push_back(block.id);
    } else {
        l.resident -= block.units;
        block.returned_s = now_s_;
        result_.makespan_s = now_s_;
        result_.blocks.push_back(block);
        const FakeBlock home = block;
        blocks_.erase(transfer.block);
        if (worker(home.processor).link >= 0 && flow_.returned(home.id, home.processor, home.units, home.end_s, now_s_))
            accept(flow_.ask_freed(now_s_));
    }
    start_what_can(transfer.worker);
}

/// What is computed or travels home is kept; everything else of the worker is given back.
void Simulation::lose(int w) {
    Lane& l = lane(w);
    l.lost = true;
    flow_.fence(w);
    std::erase_if(blocks_, [w](const auto& entry) {
        const FakeBlock& block = entry.second;
        return block.processor == w && block.given_up && block.end_s == 0;
    });
    for (const BlockInFlight block : std::vector(flow_.in_flight(w).begin(), flow_.in_flight(w).end())) {
        flow_.give_back(block.id);
        blocks_.erase(block.id);
    }
    std::erase_if(transfers_, [w](const Transfer& transfer) { return transfer.worker == w && transfer.in; });
    l.waiting.clear();
    l.ready.clear();
    l.running = -1;
    running_end_s(w) = kNever;
    carry_out_decisions();
    accept(flow_.ask_all(now_s_));
}

/// What it has not begun is for others, if there are some.
void Simulation::occupy(int w) {
    Lane& l = lane(w);
    l.was_occupied = true;
    flow_.set_occupied(w, true);
    if (!flow_.do_without(w)) return;
    for (const BlockInFlight block : std::vector(flow_.in_flight(w).begin(), flow_.in_flight(w).end())) {
        if (block.id == l.running) continue;
        flow_.give_back(block.id);
        if (std::erase(l.waiting, block.id) == 0) l.resident -= block.units;
        std::erase(l.ready, block.id);
        if (std::erase_if(transfers_, [&](const Transfer& t) { return t.in && t.block == block.id; }) > 0)
            l.receiving = false;
        blocks_.erase(block.id);
    }
    carry_out_decisions();
    accept(flow_.look(now_s_));
}

void Simulation::carry_out_decisions() {
    const Decisions decisions = flow_.take_decisions();
    for (const std::int64_t id : decisions.dropped) {
        ++result_.dropped;
        blocks_.at(id).dropped = true;
        if (blocks_.at(id).waiting) drop(id);
    }
    for (const std::int64_t id : decisions.counted) {
        blocks_.at(id).waiting = false;
        send_home(FakeBlock(blocks_.at(id)));
    }
    for (const std::int64_t id : decisions.given_up) {
        ++result_.given_up;
        blocks_.at(id).given_up = true;
        result_.stuck = result_.stuck || !blocks_.at(id).yields;
    }
}

/// A block that does not count has ended.
void Simulation::drop(std::int64_t id) {
    const FakeBlock block = blocks_.extract(id).mapped();
    lane(block.processor).resident -= block.units;
}

void Simulation::look() {
    const std::vector<Block> next = flow_.look(now_s_);
    carry_out_decisions();
    accept(next);
}

/// One event. False when nothing moves any more.
bool Simulation::advance() {
    double step_s = kNever;
    find_rates();
    for (const Transfer& transfer : transfers_) step_s = std::min(step_s, seconds_left(transfer));
    for (std::size_t w = 0; w < lanes_.size(); ++w) {
        step_s = std::min(step_s, running_end_s_[w] - now_s_);
        if (flow_.occupied(static_cast<int>(w)) && !flow_.done() && !computes_for_nobody(static_cast<int>(w)))
            step_s = std::min(step_s, platform_.workers[w].free_at_s - now_s_);
        if (!lanes_[w].was_occupied && !flow_.done())
            step_s = std::min(step_s, platform_.workers[w].occupied_at_s - now_s_);
        const double lost_at_s = platform_.workers[w].lost_at_s;
        if (lost_at_s >= 0 && !lanes_[w].lost && !flow_.done()) step_s = std::min(step_s, lost_at_s - now_s_);
    }
    const double next_look_s = flow_.next_look_s(now_s_);
    step_s = std::min(step_s, next_look_s - now_s_);
    if (step_s == kNever || result_.stuck) return false;
    step_s = std::max(step_s, 0.0);
    std::vector<Transfer> ended;
    constexpr double kTogether_s = 1e-12;
    for (Transfer& transfer : transfers_) {
        const bool due = seconds_left(transfer) <= step_s + kTogether_s;
        if (transfer.latency_left_s > 0) {
            transfer.latency_left_s = due ? 0 : transfer.latency_left_s - step_s;
            if (due && transfer.bytes_left <= 0) ended.push_back(transfer);
        } else {
            transfer.bytes_left = due ? 0 : transfer.bytes_left - rate(transfer) * step_s;
            if (due) ended.push_back(transfer);
        }
    }
    now_s_ += step_s;
    std::erase_if(transfers_, [](const Transfer& t) { return t.latency_left_s <= 0 && t.bytes_left <= 0; });
    for (const Transfer& transfer : ended) transfer_ended(transfer);
    for (int w = 0; w < static_cast<int>(lanes_.size()); ++w) {
        if (running_end_s(w) <= now_s_ + kTogether_s) kernel_ended(w);
        if (worker(w).lost_at_s >= 0 && !lane(w).lost && worker(w).lost_at_s <= now_s_ && !flow_.done()) lose(w);
        if (!lane(w).was_occupied && worker(w).occupied_at_s <= now_s_ && !flow_.done()) occupy(w);
    }
    bool looks = now_s_ + kTogether_s >= next_look_s;
    for (int w = 0; w < static_cast<int>(lanes_.size()); ++w) {
        if (!flow_.occupied(w) || worker(w).free_at_s > now_s_ + kTogether_s || computes_for_nobody(w)) continue;
        flow_.set_occupied(w, false);
        looks = true;
    }
    if (looks) look();
    return true;
}

}  // namespace

Units FakeRun::units_of(int processor) const {
    Units sum = 0;
    for (const FakeBlock& block : blocks)
        if (block.processor == processor) sum += block.units;
    return sum;
}

double FakeRun::end_of(int processor) const {
    double end_s = 0;
    for (const FakeBlock& block : blocks)
        if (block.processor == processor) end_s = std::max(end_s, block.end_s);
    return end_s;
}

namespace {

std::vector<OwnedUnits> by_first_unit(const FakeRun& run) {
    std::vector<OwnedUnits> blocks;
    for (const FakeBlock& block : run.blocks) blocks.push_back({block.processor, block.first, block.units});
    std::ranges::sort(blocks, {}, &OwnedUnits::first);
    return blocks;
}

}  // namespace

FakeRun run(const FakePlatform& platform, Policy& policy, const LoadDescription& load, const FakeRun* previous) {
    return Simulation(platform, policy, load, previous ? by_first_unit(*previous) : std::vector<OwnedUnits>{}).run();
}

Units moved_units(const FakeRun& before, const FakeRun& after) {
    const std::vector<OwnedUnits> a = by_first_unit(before), b = by_first_unit(after);
    Units moved = 0;
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const Units first = std::max(a[i].first, b[j].first);
        const Units a_end = a[i].first + a[i].units, b_end = b[j].first + b[j].units;
        if (a[i].processor != b[j].processor) moved += std::min(a_end, b_end) - first;
        if (a_end <= b_end) ++i;
        if (b_end <= a_end) ++j;
    }
    return moved;
}

std::vector<const char*> policies_that_need_a_profile() {
    std::vector<const char*> names;
    for (const PolicyEntry& entry : registered_policies())
        if (entry.profile == ProfileUse::required) names.push_back(entry.name);
    return names;
}

}  // namespace apportion::test
