// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test/fake_platform.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <random>

#include "policies/block_flow.hpp"
#include "policies/processor_watch.hpp"

namespace apportion::test {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Counts calls on their way to the policy under test.
class Counted final : public Policy {
  public:
    Counted(Policy& policy, int& asked) : policy_(policy), asked_(asked) {}
    void begin(const LoadDescription& load) override { policy_.begin(load); }
    Units next_block(int processor, double now_s, const Progress& progress) override {
        ++asked_;
        return policy_.next_block(processor, now_s, progress);
    }
    void block_finished(const FinishedBlock& block) override { policy_.block_finished(block); }
    void processor_lost(int processor) override { policy_.processor_lost(processor); }
    bool plans_copies() const override { return policy_.plans_copies(); }

  private:
    Policy& policy_;
    int& asked_;
};

struct Transfer {
    std::int64_t block = 0;
    int worker = 0;
    bool in = true;
    double latency_left_s = 0;
    double bytes_left = 0;
};

struct Lane {
    std::deque<std::int64_t> waiting;  ///< given, data not yet on their way
    std::deque<std::int64_t> ready;    ///< data arrived, kernel not started
    std::int64_t running = -1;
    double running_end_s = kNever;
    bool receiving = false;
    Units resident = 0;
    int started = 0;
    bool lost = false;
    std::mt19937 random;
};

class Simulation {
  public:
    Simulation(const FakePlatform& platform, Policy& policy, const LoadDescription& load,
               const std::vector<Block>& previous)
        : platform_(platform), policy_(policy), counted_(policy, result_.asked), flow_(load, counted_, previous) {
        lanes_.resize(platform.workers.size());
        for (std::size_t w = 0; w < lanes_.size(); ++w)
            lanes_[w].random.seed(platform.seed + 977 * static_cast<unsigned>(w));
        watch_.begin(load.processors);
    }

    FakeRun run() {
        accept(flow_.start(0));
        while (advance()) continue;
        result_.stalls = flow_.stalls();
        result_.done = flow_.done() && transfers_.empty();
        return std::move(result_);
    }

  private:
    const FakeWorker& worker(int w) const { return platform_.workers[static_cast<std::size_t>(w)]; }
    Lane& lane(int w) { return lanes_[static_cast<std::size_t>(w)]; }
    double rate(const Transfer& transfer) const;
    double seconds_left(const Transfer& transfer) const;
    void accept(const std::vector<Block>& blocks);
    void start_what_can(int w);
    void kernel_ended(int w);
    void transfer_ended(const Transfer& transfer);
    void lose(int w);
    void settle_superseded();
    void drop(std::int64_t id);
    double next_late_s() const;
    void look();
    bool advance();

    const FakePlatform& platform_;
    Policy& policy_;
    FakeRun result_;
    Counted counted_;
    BlockFlow flow_;
    std::vector<Lane> lanes_;
    std::vector<Transfer> transfers_;
    std::map<std::int64_t, FakeBlock> blocks_;
    static constexpr double kStallFactor = 1e9;  // nobody is silent
    ProcessorWatch watch_{kStallFactor};
    bool dropped_ = false;  ///< a superseded block ended
    double now_s_ = 0;
};

double Simulation::rate(const Transfer& transfer) const {
    int sharing = 0;
    for (const Transfer& other : transfers_)
        sharing += other.latency_left_s <= 0 && other.in == transfer.in &&
                   worker(other.worker).link == worker(transfer.worker).link;
    return platform_.links[static_cast<std::size_t>(worker(transfer.worker).link)].bytes_per_s / std::max(1, sharing);
}

double Simulation::seconds_left(const Transfer& transfer) const {
    return transfer.latency_left_s > 0 ? transfer.latency_left_s : transfer.bytes_left / rate(transfer);
}

void Simulation::accept(const std::vector<Block>& blocks) {
    for (const Block& block : blocks) {
        blocks_[block.id] = {block.id, block.processor, block.first, block.units, now_s_, 0, 0, 0};
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
                                  platform_.bytes_in_per_unit * static_cast<double>(block.units)});
        }
    }
    while (l.running < 0 && !l.ready.empty() && blocks_[l.ready.front()].superseded) {
        drop(l.ready.front());
        l.ready.pop_front();
    }
    if (l.running < 0 && !l.ready.empty()) {
        l.running = l.ready.front();
        l.ready.pop_front();
        FakeBlock& block = blocks_[l.running];
        block.start_s = now_s_;
        double seconds = worker(w).seconds(static_cast<double>(block.units));
        if (worker(w).noise > 0) seconds *= std::exp(std::normal_distribution<>(0, worker(w).noise)(l.random));
        for (auto [number, factor] : worker(w).spikes)
            if (number == l.started) seconds *= factor;
        if (worker(w).drift_at_s >= 0 && now_s_ >= worker(w).drift_at_s) seconds *= worker(w).drift_factor;
        ++l.started;
        l.running_end_s = now_s_ + seconds;
    }
}

void Simulation::kernel_ended(int w) {
    Lane& l = lane(w);
    FakeBlock& block = blocks_[l.running];
    block.end_s = now_s_;
    l.running = -1;
    l.running_end_s = kNever;
    const FakeBlock done = block;
    if (done.superseded) {
        drop(done.id);
        start_what_can(w);
        return;
    }
    if (worker(w).link >= 0)
        transfers_.push_back(
            {done.id, w, false, worker(w).latency_s, platform_.bytes_out_per_unit * static_cast<double>(done.units)});
    else
        transfer_ended({done.id, w, false, 0, 0});
    watch_.finished(w, done.units, done.given_s, done.end_s);
    std::vector<Block> next = flow_.finished(done.id, done.start_s, done.end_s, done.end_s - done.start_s, now_s_);
    settle_superseded();
    accept(next);
    start_what_can(w);
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
        if (!block.superseded) {
            result_.makespan_s = now_s_;
            result_.blocks.push_back(block);
        }
        if (worker(transfer.worker).link >= 0)
            policy_.block_returned(transfer.worker, block.units, now_s_ - block.end_s);
        blocks_.erase(transfer.block);
    }
    start_what_can(transfer.worker);
}

/// What is computed or travels home is kept; everything else of the worker is given back.
void Simulation::lose(int w) {
    Lane& l = lane(w);
    l.lost = true;
    watch_.lose(w);
    flow_.fence(w);
    for (auto it = blocks_.begin(); it != blocks_.end();) {
        const FakeBlock& block = it->second;
        it = block.processor == w && block.superseded && block.end_s == 0 ? blocks_.erase(it) : std::next(it);
    }
    for (const BlockInFlight block : std::vector(flow_.in_flight(w).begin(), flow_.in_flight(w).end())) {
        flow_.give_back(block.id);
        blocks_.erase(block.id);
    }
    std::erase_if(transfers_, [w](const Transfer& transfer) { return transfer.worker == w && transfer.in; });
    l.waiting.clear();
    l.ready.clear();
    l.running = -1;
    l.running_end_s = kNever;
    accept(flow_.ask_all(now_s_));
}

/// Blocks that count no more: those in flight run on, in vain, unless they have not begun.
void Simulation::settle_superseded() {
    for (const std::int64_t id : flow_.take_superseded()) {
        ++result_.superseded;
        if (const auto it = blocks_.find(id); it != blocks_.end())
            it->second.superseded = true;
        else
            std::erase_if(result_.blocks, [id](const FakeBlock& block) { return block.id == id; });
    }
}

/// The end of a superseded block.
void Simulation::drop(std::int64_t id) {
    const FakeBlock block = blocks_.extract(id).mapped();
    lane(block.processor).resident -= block.units;
    flow_.superseded_ended(id);
    dropped_ = true;
}

double Simulation::next_late_s() const {
    double next_s = kNever;
    for (int w = 0; platform_.watched && w < static_cast<int>(lanes_.size()); ++w) {
        if (flow_.in_flight(w).empty() || flow_.late(w)) continue;
        const BlockInFlight& oldest = flow_.in_flight(w).front();
        const double late_s = watch_.late_at_s(w, oldest.units, oldest.given_s, ProcessorWatch::Copies::cheap);
        if (late_s > now_s_) next_s = std::min(next_s, late_s);
    }
    return next_s;
}

void Simulation::look() {
    bool any = dropped_;
    dropped_ = false;
    std::vector<int> idle;
    for (int w = 0; flow_.remaining() == 0 && w < static_cast<int>(lanes_.size()); ++w)
        if (flow_.in_flight(w).empty() && !flow_.late(w) && !lane(w).lost) idle.push_back(w);
    for (int w = 0; platform_.watched && w < static_cast<int>(lanes_.size()); ++w) {
        if (flow_.in_flight(w).empty() || flow_.late(w)) continue;
        const std::vector<BlockInFlight> blocks(flow_.in_flight(w).begin(), flow_.in_flight(w).end());
        if (watch_.judge(w, blocks[0].units, blocks[0].given_s, now_s_, ProcessorWatch::Copies::cheap, idle) ==
            ProcessorWatch::Verdict::late)
            for (const BlockInFlight& block : blocks) any = flow_.mark_late(block.id) || any;
    }
    if (any) accept(flow_.ask_all(now_s_));
}

/// One event. False when nothing moves any more.
bool Simulation::advance() {
    double step_s = kNever;
    for (const Transfer& transfer : transfers_) step_s = std::min(step_s, seconds_left(transfer));
    for (std::size_t w = 0; w < lanes_.size(); ++w) {
        step_s = std::min(step_s, lanes_[w].running_end_s - now_s_);
        const double lost_at_s = platform_.workers[w].lost_at_s;
        if (lost_at_s >= 0 && !lanes_[w].lost && !flow_.done()) step_s = std::min(step_s, lost_at_s - now_s_);
    }
    step_s = std::min(step_s, next_late_s() - now_s_);
    if (step_s == kNever) return false;
    step_s = std::max(step_s, 0.0);
    std::vector<double> rates;
    for (const Transfer& transfer : transfers_) rates.push_back(rate(transfer));
    std::vector<Transfer> ended;
    constexpr double kTogether_s = 1e-12;
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
        Transfer& transfer = transfers_[i];
        const bool due = seconds_left(transfer) <= step_s + kTogether_s;
        if (transfer.latency_left_s > 0) {
            transfer.latency_left_s = due ? 0 : transfer.latency_left_s - step_s;
        } else {
            transfer.bytes_left = due ? 0 : transfer.bytes_left - rates[i] * step_s;
            if (due) ended.push_back(transfer);
        }
    }
    now_s_ += step_s;
    std::erase_if(transfers_, [](const Transfer& t) { return t.latency_left_s <= 0 && t.bytes_left <= 0; });
    for (const Transfer& transfer : ended) transfer_ended(transfer);
    for (int w = 0; w < static_cast<int>(lanes_.size()); ++w) {
        if (lane(w).running_end_s <= now_s_ + kTogether_s) kernel_ended(w);
        if (worker(w).lost_at_s >= 0 && !lane(w).lost && worker(w).lost_at_s <= now_s_ && !flow_.done()) lose(w);
    }
    look();
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

std::vector<Block> by_first_unit(const FakeRun& run) {
    std::vector<Block> blocks;
    for (const FakeBlock& block : run.blocks) blocks.push_back({block.id, block.processor, block.first, block.units});
    std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.first < b.first; });
    return blocks;
}

}  // namespace

FakeRun run(const FakePlatform& platform, Policy& policy, const LoadDescription& load, const FakeRun* previous) {
    return Simulation(platform, policy, load, previous ? by_first_unit(*previous) : std::vector<Block>{}).run();
}

Units moved_units(const FakeRun& before, const FakeRun& after) {
    const std::vector<Block> a = by_first_unit(before), b = by_first_unit(after);
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

}  // namespace apportion::test
