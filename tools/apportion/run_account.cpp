// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/explanation.hpp"

#include <algorithm>

namespace apportion {

namespace {

ProcessorAccount totals_of(const ReportedProcessor& processor, double makespan_s) {
    ProcessorAccount account;
    account.name = processor.name;
    account.kind = processor.kind;
    account.units = processor.units;
    account.blocks = processor.blocks;
    account.compute_s = processor.compute_s;
    account.transfer_s = processor.transfer_wait_s;
    account.end_s = std::max(0.0, makespan_s - account.compute_s - account.transfer_s);
    account.last_s = account.units > 0 ? account.compute_s + account.transfer_s : 0;
    return account;
}

/// Goes through a processor's blocks in time.
void follow_blocks(ProcessorAccount& account, const std::vector<const ReportedBlock*>& blocks, double makespan_s,
                   double probing_s) {
    account.compute_s = account.transfer_s = account.last_s = 0;
    double now_s = 0;
    const auto until = [&](double moment_s, double& entry) {
        moment_s = std::min(moment_s, makespan_s);
        if (moment_s <= now_s) return;
        entry += moment_s - now_s;
        now_s = moment_s;
    };
    for (const ReportedBlock* block : blocks) {
        until(std::min(block->given_s, probing_s), account.models_s);
        until(block->given_s, account.policy_s);
        until(block->start_s, account.transfer_s);
        until(block->end_s, block->given_back ? account.copies_s : account.compute_s);
        if (!block->given_back) account.last_s = std::max(account.last_s, std::min(block->home_s, makespan_s));
    }
    if (account.last_s > 0) until(account.last_s, account.home_s);
    account.end_s = 0;
    until(makespan_s, account.end_s);
}

}  // namespace

RunAccount account_of(const RunReport& report) {
    RunAccount account;
    account.makespan_s = report.makespan_s;
    for (const ReportedProcessor& processor : report.processors)
        account.processors.push_back(totals_of(processor, account.makespan_s));
    account.has_blocks = !report.trace.empty();
    if (account.has_blocks) {
        std::vector<std::vector<const ReportedBlock*>> blocks(account.processors.size());
        for (const ReportedBlock& block : report.trace) blocks[block.processor].push_back(&block);
        for (std::size_t p = 0; p < blocks.size(); ++p) {
            std::ranges::stable_sort(blocks[p], {}, &ReportedBlock::start_s);
            follow_blocks(account.processors[p], blocks[p], account.makespan_s, report.probing_s);
        }
    }
    const auto last = std::ranges::max_element(account.processors, {}, &ProcessorAccount::last_s);
    account.binding = static_cast<std::size_t>(last - account.processors.begin());
    return account;
}

}  // namespace apportion
