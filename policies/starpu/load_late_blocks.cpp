// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which blocks of a load are late, and what becomes of them and of their copies; load.hpp tells the rules.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "policies/starpu/load.hpp"

using apportion::LostProcessor;

/// Whether the block can be computed by others as well, without harm when it ends after all.
bool apportion_load::can_be_late(const RunningBlock& running) const {
    const bool own_memory = workers_[running.block.processor].processor.own_memory;
    return (own_memory || options_.results_stay != 0) && !running.in_place && !running.writes_uses &&
           !(own_memory && running.data.reads_earlier_results);
}

/// Processors that have nothing to do because nothing is left, or only copies that they do not get.
std::vector<int> apportion_load::idle_ones() const {
    std::vector<int> idle;
    if (flow_->unassigned() > 0) return idle;
    for (int p = 0; p < static_cast<int>(workers_.size()); ++p)
        if (!watch_.lost(p) && !flow_->late(p) && flow_->in_flight(p).empty()) idle.push_back(p);
    return idle;
}

/// Of each processor, the block that it should finish next.
std::vector<apportion_load::RunningBlock*> apportion_load::oldest_blocks() const {
    std::vector<RunningBlock*> oldest(workers_.size());
    for (const auto& [running, owned] : blocks_) {
        if (running->parts_left == 0 || running->submitted_s < 0) continue;
        RunningBlock*& known = oldest[static_cast<std::size_t>(running->block.processor)];
        if (!known || running->block.id < known->block.id) known = running;
    }
    std::erase(oldest, nullptr);
    return oldest;
}

/// The block and those behind it on the same processor. Whether any became late.
bool apportion_load::mark_late(RunningBlock& oldest, double waited_s) {
    bool any = false;
    for (const auto& [running, owned] : blocks_) {
        const bool behind = running->block.processor == oldest.block.processor && running->block.id >= oldest.block.id;
        if (!behind || running->late || running->parts_left == 0 || running->submitted_s < 0) continue;
        if (!can_be_late(*running) || !flow_->mark_late(running->block.id)) continue;
        running->late = any = true;
        record_.late.push_back({running->record, now_s(), running == &oldest ? waited_s : 0});
    }
    return any;
}

/// What is late is computed by others as well, who drop their results if they are second, and by CPU workers if the
/// application leaves the results alone. If not, these take it over for good when they would lose more by waiting.
apportion::ProcessorWatch::Verdict apportion_load::judge(const RunningBlock& running, double now_s,
                                                         const std::vector<int>& idle) const {
    using Copies = apportion::ProcessorWatch::Copies;
    using Verdict = apportion::ProcessorWatch::Verdict;
    const apportion::Block& block = running.block;
    // Only where the policy plans copies may they begin before a block is clearly late: other policies stay what they
    // are known for, however long those who are done with their shares are idle.
    const bool may_begin_early = policy_->plans_copies() && flow_->spare() == 0;
    const std::vector<int> nobody;
    const auto verdict = [&](Copies copies) {
        return watch_.judge(block.processor, block.units, running.submitted_s, now_s, copies,
                            may_begin_early ? idle : nobody);
    };
    if (!can_be_late(running)) return verdict(Copies::costly) == Verdict::silent ? Verdict::silent : Verdict::on_time;
    if (options_.results_stay != 0)
        return verdict(workers_[block.processor].processor.own_memory ? Copies::cheap : Copies::costly);
    const bool cpu_idles =
        std::any_of(idle.begin(), idle.end(), [this](int p) { return !workers_[p].processor.own_memory; });
    const bool nobody_else = !running.late || flow_->spare() > 0;
    if (cpu_idles && nobody_else && verdict(Copies::costly) == Verdict::late) return Verdict::silent;
    return verdict(Copies::cheap);
}

/// Whether anybody would be left if all these were late: otherwise it is the machine that stands still.
bool apportion_load::others_are_left(const std::vector<RunningBlock*>& late) const {
    for (int p = 0; p < static_cast<int>(workers_.size()); ++p) {
        const auto is_its = [p](const RunningBlock* running) { return running->block.processor == p; };
        if (!watch_.lost(p) && !flow_->late(p) && std::none_of(late.begin(), late.end(), is_its)) return true;
    }
    return false;
}

void apportion_load::judge_blocks(Outbox& outbox) {
    using Verdict = apportion::ProcessorWatch::Verdict;
    const double now = now_s();
    const std::vector<int> idle = idle_ones();
    std::vector<RunningBlock*> late, silent;
    for (RunningBlock* running : oldest_blocks()) {
        const Verdict verdict = judge(*running, now, idle);
        if (verdict == Verdict::silent) silent.push_back(running);
        if (verdict == Verdict::late && !running->late) late.push_back(running);
    }
    bool any = !silent.empty();
    for (const RunningBlock* running : silent) {
        const apportion::Block& block = running->block;
        const double waited_s = watch_.waited_s(block.processor, running->submitted_s, now);
        abandon_blocks_of(block.processor, fmt::format("{} not finished after {:.3g} s", range_of(block), waited_s));
    }
    if (others_are_left(late))
        for (RunningBlock* running : late)
            any = mark_late(*running, watch_.waited_s(running->block.processor, running->submitted_s, now)) || any;
    if (any) hand_out_again(outbox);
}

/// Whoever has nothing to do can help at once.
void apportion_load::look_if_somebody_idles(Outbox& outbox) {
    if (!flow_ || error_ != 0 || !watchdog_ || stall_factor_ <= 0 || idle_ones().empty()) return;
    judge_blocks(outbox);
    watchdog_->wake(kSoonestLook_s);
}

/// Blocks that others were faster with count no more; their results are dropped where they are.
void apportion_load::settle_superseded() {
    for (const std::int64_t id : flow_->take_superseded()) {
        apportion::BlockRecord& record = record_.blocks[static_cast<std::size_t>(id)];
        record.given_back = true;
        const auto of_id = [id](const auto& entry) { return entry.first->block.id == id; };
        const auto it = std::find_if(blocks_.begin(), blocks_.end(), of_id);
        if (it == blocks_.end()) {
            const auto kept = kept_.find(record.first);
            if (kept == kept_.end() || kept->second.units != record.units) continue;
            for (const apportion::BlockHandle& h : kept->second.handles) retired_.push_back(h.handle);
            kept_.erase(kept);
            continue;
        }
        RunningBlock& running = *it->first;
        running.superseded = true;
        if (running.parts_left > 0) leave_alone(running);
    }
}

/// At the run's end: processors that have still not finished what others have computed meanwhile.
void apportion_load::record_unanswered() {
    std::map<std::int64_t, const RunningBlock*> unanswered;
    for (const auto& [running, owned] : abandoned_)
        if (running->superseded && running->late && running->run == record_.run)
            unanswered.emplace(running->block.id, running);
    for (const auto& [id, running] : unanswered) {
        const int processor = running->block.processor;
        const auto known = std::ranges::find(record_.lost, processor, &LostProcessor::processor);
        if (known != record_.lost.end()) {
            known->units_given_back += running->block.units;
            continue;
        }
        const auto late = std::ranges::find(record_.late, running->record, &apportion::LateBlock::block);
        record_.lost.push_back({processor, late->at_s,
                                fmt::format("{} not finished by the end of the run, {:.3g} s later",
                                            range_of(running->block), record_.makespan_s - running->submitted_s),
                                running->block.units});
    }
}

/// Until the first block that is not will be late, as far as is known.
double apportion_load::seconds_until_late(double now_s) const {
    double at_s = std::numeric_limits<double>::infinity();
    for (const RunningBlock* running : oldest_blocks())
        if (!running->late)
            at_s = std::min(at_s, watch_.late_at_s(running->block.processor, running->block.units, running->submitted_s,
                                                   apportion::ProcessorWatch::Copies::cheap));
    return at_s - now_s;
}
