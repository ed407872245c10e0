// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/stragglers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "policies/starpu/run.hpp"

namespace apportion {

bool Stragglers::own_memory(const RunningBlock& block) const {
    return setup_.worker_of(block.block.processor).processor.own_memory;
}

/// What it stores on its device never goes home. Results of an earlier run there are still needed.
void Stragglers::forget_results(RunningBlock& block) const {
    if (own_memory(block) && !block.data.earlier_results()) block.data.forget_results();
}

void Stragglers::add(std::unique_ptr<RunningBlock> block, std::shared_ptr<Run> run) {
    const Lock lock(mutex_);
    block->phase = RunningBlock::Phase::cancelled;
    any_ = true;  // before: a thread that submits a task of it now looks behind that
    forget_results(*block);
    const RunningBlock* key = block.get();
    const bool measured = setup_.options.parts == 1 && block->begun_us >= 0;
    running_.emplace(key, Owned{std::move(block), std::move(run), measured});
}

void Stragglers::submitted(RunningBlock& block) {
    if (!any_) return;
    const Lock lock(mutex_);
    if (running_.contains(&block)) forget_results(block);
}

bool Stragglers::task_ended(RunningBlock& block, double busy_s) {
    if (!any_) return false;
    const Lock lock(mutex_);
    const auto it = running_.find(&block);
    if (it == running_.end()) return false;
    if (--block.tasks_left > 0) return true;
    if (it->second.measured && block.failed.empty() && busy_s > 0)
        measured_.push_back({block.block.processor, block.block.units, busy_s});
    forget_results(block);
    ended_data_.push_back(std::move(block.data));
    running_.erase(it);
    ended_.notify_all();
    return true;
}

std::vector<Stragglers::Measured> Stragglers::take_measured() {
    const Lock lock(mutex_);
    return std::exchange(measured_, {});
}

std::vector<int> Stragglers::processors() const {
    const Lock lock(mutex_);
    std::vector<int> processors;
    for (const auto& [block, owned] : running_) processors.push_back(block->block.processor);
    return processors;
}

double Stragglers::stalls_at_us(const Recovery& recovery, const std::set<unsigned>& nodes) const {
    const Lock lock(mutex_);
    double at_us = std::numeric_limits<double>::infinity();
    for (const auto& [block, owned] : running_)
        if (nodes.contains(block->data.node)) at_us = std::min(at_us, block->stalls_at_us(recovery));
    return at_us;
}

std::string Stragglers::dangerous_after_error() const {
    const Lock lock(mutex_);
    for (const auto& [block, owned] : running_)
        if ((in_main_memory(*block) || block->data.earlier_results()) && owned.run->error() != 0)
            return fmt::format("{} has still not finished {} of an earlier submission",
                               setup_.worker_of(block->block.processor).processor.name, block->range());
    return {};
}

void Stragglers::wait(bool only_in_main_memory) {
    Lock lock(mutex_);
    const auto is_waited_for = [&](const auto& entry) { return !only_in_main_memory || in_main_memory(*entry.first); };
    ended_.wait(lock, [&] { return std::ranges::none_of(running_, is_waited_for); });
}

void Stragglers::leave_data_to(KeptData& kept) {
    std::vector<BlockData> ended;
    {
        const Lock lock(mutex_);
        ended = std::exchange(ended_data_, {});
    }
    for (BlockData& data : ended) {
        if (data.earlier_results())
            kept.keep(std::move(data));
        else
            kept.retire(data);
    }
}

}  // namespace apportion
